import { parseAst } from "rolldown/parseAst";

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/**
 * A lazy chunk imports what it shares with the entry from the entry. While the entry waits in a top-level await for
 * that chunk, the chunk waits for the entry, and Node exits with code 13 and no message. So the entry must not wait
 * at its top level; in src/cli.ts write `void main()` with a catch inside.
 */
export function refuseTopLevelAwait() {
  return {
    name: "refuse-top-level-await",
    generateBundle(_options, bundle) {
      const startUp = new Set(Object.values(bundle).filter((chunk) => chunk.isEntry));
      for (const chunk of startUp) {
        for (const name of chunk.imports) if (bundle[name] !== undefined) startUp.add(bundle[name]);
        if (!awaitsOutsideFunctions(parseAst(chunk.code))) continue;
        this.error(`${chunk.fileName} has a top-level await; see scripts/build/await.mjs`);
      }
    },
  };
}

function awaitsOutsideFunctions(node) {
  if (Array.isArray(node)) return node.some(awaitsOutsideFunctions);
  if (node === null || typeof node !== "object" || FUNCTIONS.has(node.type)) return false;
  if (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await)) return true;
  return Object.values(node).some(awaitsOutsideFunctions);
}

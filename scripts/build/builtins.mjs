import { isBuiltin } from "node:module";

const PREFIX = "\0builtin:";
const NAME = /^[A-Za-z_$][\w$]*$/;

/**
 * Takes Node's own modules with `process.getBuiltinModule` instead of an import. For an import, Node reads every
 * property of the module, and some are loaded by being read: `process` alone brings the whole list of allowed flags.
 * Each name is read only where it is used.
 */
export function directBuiltins() {
  return {
    name: "direct-builtins",
    resolveId: {
      order: "pre",
      handler(id, importer, { kind }) {
        // The bundler's own code runs before any module.
        if (importer?.startsWith("\0rolldown")) return null;
        // `require` needs no help, and asks for the whole module.
        return kind === "import-statement" && isBuiltin(id) ? PREFIX + id.replace(/^node:/, "") : null;
      },
    },
    load: {
      filter: { id: /^\0builtin:/ },
      async handler(id) {
        const module = `node:${id.slice(PREFIX.length)}`;
        const names = Object.keys(await import(module)).filter(
          (name) => name !== "default" && NAME.test(name),
        );
        const all = `/* @__PURE__ */ process.getBuiltinModule(${JSON.stringify(module)})`;
        return {
          // A call a name: one that nobody imports leaves nothing behind. The built-in `process` is a global already.
          code: [
            `const builtin = ${module === "node:process" ? "globalThis.process" : all};`,
            "const read = (name) => builtin[name];",
            "export default builtin;",
            ...names.map(
              (name) => `const ${name}_ = /* @__PURE__ */ read("${name}"); export { ${name}_ as ${name} };`,
            ),
          ].join("\n"),
          moduleType: "js",
          moduleSideEffects: false,
        };
      },
    },
  };
}

/** The examples in docs/apply-patch.md do what the page says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { applyPatch } from "../../src/tools/apply-patch/apply.ts";
import { createSandbox, readTree, type Tree } from "./tree.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/apply-patch.md"), "utf8");
const examples = (page.split("\n## Examples\n")[1] ?? "").split("\n### ").slice(1);

test("there are examples", () => {
  expect(examples.length).toBeGreaterThan(3);
});

test.each(examples.map((text) => [text.slice(0, text.indexOf("\n")), text] as const))(
  "%s",
  async (_, text) => {
    const before: Tree = {};
    const after: Tree = {};
    let patch = "";
    let error: string | undefined;
    for (const [, info = "", body = ""] of text.matchAll(/^```(.*)\n([^]*?)^```$/gm)) {
      const [kind = "", path = ""] = (info.split(" ")[1] ?? "").split("=");
      if (kind === "before") before[path] = body;
      else if (kind === "after") after[path] = body;
      else if (kind === "patch") patch = body;
      else error = body.trimEnd();
    }
    const sandbox = await createSandbox(before);
    onTestFinished(() => sandbox.remove());
    const run = applyPatch({ root: sandbox.root, home: sandbox.home, patch });
    if (error === undefined) await run;
    else await expect(run).rejects.toThrow(expect.objectContaining({ message: error }) as Error);
    expect(await readTree(sandbox.root)).toEqual(error === undefined ? after : before);
  },
);

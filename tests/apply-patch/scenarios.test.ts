import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { applyPatch } from "../../src/tools/apply-patch/apply.ts";
import { CamelError } from "../../src/shared/errors.ts";
import { createSandbox, readTree, writeTree } from "./tree.ts";

// NNN_name/{input/, patch.txt, expected/ | error.txt}; error.txt is "code: words the message or next step holds".
const folder = join(import.meta.dirname, "../scenarios/apply-patch");

for (const name of readdirSync(folder)
  .filter((entry) => !entry.startsWith("."))
  .sort()) {
  test(name, async () => {
    const scenario = join(folder, name);
    const input = await readTree(join(scenario, "input"));
    const patch = await readFile(join(scenario, "patch.txt"), "utf8");
    const sandbox = await createSandbox();
    try {
      await writeTree(sandbox.root, input);
      const errorFile = join(scenario, "error.txt");
      const run = (): Promise<unknown> => applyPatch({ root: sandbox.root, home: sandbox.home, patch });
      if (existsSync(errorFile)) {
        const [code, words] = (await readFile(errorFile, "utf8")).trim().split(": ");
        const error = await run().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toBeInstanceOf(CamelError);
        const { message, next, code: actual } = error as CamelError;
        expect(actual).toBe(code);
        expect(`${message} ${next}`).toContain(words);
        expect(await readTree(sandbox.root)).toEqual(input);
      } else {
        await run();
        expect(await readTree(sandbox.root)).toEqual(await readTree(join(scenario, "expected")));
      }
    } finally {
      await sandbox.remove();
    }
  });
}

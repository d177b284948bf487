import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect, sandbox } from "../harness.ts";

/** CAMEL_NOTES=1000 runs the whole of it; a tenth proves the same in seconds. */
const NOTES = Number(process.env["CAMEL_NOTES"] ?? 100);

test(
  "four processes add notes at once and none is lost",
  async () => {
    const box = await sandbox({ "workspace/MEMORY.md": "# Log\n\n# End\n\nlast\n" });
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect("2.x legacy stdio", box)));
    await Promise.all(
      clients.map(async (client, process) => {
        for (let at = 0; at < NOTES / 4; at += 1) {
          // Half of them in the middle of a file, where the whole file is replaced.
          const place = at % 2 === 0 ? { file: "memory/notes.md" } : { file: "MEMORY.md", heading: "Log" };
          const { isError } = await client.callTool({
            name: "memory_write",
            arguments: { ...place, text: `note ${process}-${at} is here` },
          });
          expect(isError ?? false).toBe(false);
        }
      }),
    );
    const appended = await readFile(join(box.workspace, "memory/notes.md"), "utf8");
    const inserted = await readFile(join(box.workspace, "MEMORY.md"), "utf8");
    for (let process = 0; process < 4; process += 1) {
      for (let at = 0; at < NOTES / 4; at += 1)
        expect((at % 2 === 0 ? appended : inserted).split(`note ${process}-${at} is here\n`)).toHaveLength(2);
    }
    expect(inserted.endsWith("# End\n\nlast\n")).toBe(true);
    const [reader] = clients;
    const found = await reader!.callTool({
      name: "memory_search",
      arguments: { query: '"note 3-1 is here"' },
    });
    expect(found.content[0]?.text).toContain("MEMORY.md:");
  },
  NOTES * 400 + 20_000,
);

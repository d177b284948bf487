import { expect, test } from "vitest";
import { call, sandbox, startCamel } from "../harness.ts";

const PATCH = "*** Begin Patch\n*** Add File: made.txt\n+line\n*** End Patch";

/** Arguments as careless models send them, and what they are told. */
const REFUSED: [tool: string, args: unknown, message: string][] = [
  ["memory_get", {}, "memory_get: filePath is missing: expected string."],
  ["memory_get", { filePath: 3 }, "memory_get: filePath: expected string, received number."],
  ["memory_get", { path: "MEMORY.md" }, 'filePath is missing: expected string; "path" is unknown.'],
  [
    "memory_get",
    { file_path: "MEMORY.md" },
    'expected string; "file_path" is unknown (did you mean "filePath"?).',
  ],
  ["memory_get", { filePath: "MEMORY.md", lines: "2" }, "lines: expected number, received string."],
  ["cron", { action: "create" }, 'action: expected one of "list"|"add"'],
  ["tool_create", { action: "create", definition: [1] }, "definition: expected an object."],
  ["apply_patch", { patch: PATCH, dryRun: true }, '"dryRun" is unknown (did you mean "dry_run"?).'],
  [
    "memory_search",
    { query: "x", "max-results": 1 },
    '"max-results" is unknown (did you mean "maxResults"?).',
  ],
];

test.each(REFUSED)("%s %j", async (tool, args, message) => {
  const camel = await startCamel(await sandbox({ "workspace/MEMORY.md": "x\n" }));
  const result = await call(camel, tool, args);
  expect(result.code).toBe("invalid_input");
  expect(result.text).toContain(message);
  expect(result.text).toContain("\nNext: Parameters: ");
});

const TAKEN: [tool: string, args: unknown][] = [
  // Gemini adds one of its own to every call.
  ["memory_get", { filePath: "MEMORY.md", wait_for_previous: true }],
  ["memory_get", { filePath: "MEMORY.md", from: null, lines: null }],
  ["apply_patch", { patch: PATCH, dry_run: true, dryRun: true }],
];

test.each(TAKEN)("%s %j is taken", async (tool, args) => {
  const camel = await startCamel(await sandbox({ "workspace/MEMORY.md": "x\n" }));
  expect((await call(camel, tool, args)).isError).toBeUndefined();
});

import { lstat, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { addToAllowlist } from "../../src/config/edit.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { addToList } from "../../src/shared/yaml-text.ts";
import { sandbox } from "../harness.ts";

const KEYS = ["approvals", "allowlist"];
const LONG = `reason: "${"well past eighty columns, where a printer would fold it, ".repeat(3)}"`;

describe("an entry for the allowlist", () => {
  test.each([
    ["nothing yet", "", "approvals:\n  allowlist:\n    - new\n"],
    ["comments only", "# mine", "# mine\napprovals:\n  allowlist:\n    - new\n"],
    [
      "no approvals",
      "# a\ntools:\n    deny:  [x]   # b\n",
      "# a\ntools:\n    deny:  [x]   # b\napprovals:\n  allowlist:\n    - new\n",
    ],
    [
      "no list, and something behind",
      `approvals:\n    mode:   smart   # careful\n\n\n# next\n${LONG}\n`,
      `approvals:\n    mode:   smart   # careful\n    allowlist:\n      - new\n\n\n# next\n${LONG}\n`,
    ],
    ["an empty list", "approvals: {allowlist: []}\n", 'approvals: {allowlist: ["new"]}\n'],
    [
      "a list in brackets",
      "approvals:\n  allowlist: [ 'a:b', c ]   # d\n",
      "approvals:\n  allowlist: [ 'a:b', c, \"new\" ]   # d\n",
    ],
    [
      "a list of lines",
      "approvals:\n  allowlist:\n  - a # one\n  # between\n  - b\n  mode: smart\n",
      "approvals:\n  allowlist:\n  - a # one\n  # between\n  - b\n  - new\n  mode: smart\n",
    ],
    [
      "Windows line ends",
      "approvals:\r\n  allowlist:\r\n    - a\r\n",
      "approvals:\r\n  allowlist:\r\n    - a\r\n    - new\r\n",
    ],
    ["JSON", '{"approvals":{"mode":"smart"}}', '{"approvals":{"mode":"smart", "allowlist":["new"]}}'],
  ])("%s: the rest of the text stays", (_name, before, after) => {
    expect(addToList(before, KEYS, ["new"])).toBe(after);
  });

  test("an alias on the way, or any other document: the data is right", () => {
    const aliased = "base: &b [x]\napprovals:\n  allowlist: *b\n";
    expect(parse(addToList(aliased, KEYS, ["new"]))).toMatchObject({ approvals: { allowlist: ["new"] } });
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.integer(),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(fc.string(), tie("any"), { maxKeys: 3 }),
      ),
    })).any;
    const document = fc.record(
      {
        before: value,
        approvals: fc.record(
          { mode: fc.string(), allowlist: fc.array(fc.string(), { maxLength: 3 }), more: value },
          { requiredKeys: [] },
        ),
        after: value,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        document,
        fc.array(fc.string(), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        (data, added, flow) => {
          const text = flow ? JSON.stringify(data) : stringify(data);
          expect(parse(addToList(text, KEYS, added))).toEqual({
            ...data,
            approvals: { ...data.approvals, allowlist: [...(data.approvals?.allowlist ?? []), ...added] },
          });
        },
      ),
    );
  });
});

test("two at once lose nothing; a link stays a link; a broken file stays as it is", async () => {
  const box = await sandbox({ "dotfiles/camel.yaml": "# mine\napprovals: { mode: smart }\n" });
  const path = join(box.home, "config.yaml");
  const real = join(box.home, "../dotfiles/camel.yaml");
  await symlink("../dotfiles/camel.yaml", path);
  await Promise.all(["a", "b", "c", "a"].map((entry) => addToAllowlist(path, [entry], systemClock)));
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  const text = await readFile(real, "utf8");
  expect(text).toContain("# mine");
  expect((parse(text) as { approvals: { allowlist: string[] } }).approvals.allowlist.sort()).toEqual([
    "a",
    "b",
    "c",
  ]);
  await box.write("dotfiles/camel.yaml", "approvals: { mode: smart\n");
  await expect(addToAllowlist(path, ["d"], systemClock)).rejects.toMatchObject({ code: "invalid_config" });
  expect(await readFile(real, "utf8")).toBe("approvals: { mode: smart\n");
});

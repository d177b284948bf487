import fc from "fast-check";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml, stringify as stringifyToml } from "smol-toml";
import { parse as parseYaml, stringify as stringifyYaml } from "yaml";
import { describe, expect, test } from "vitest";
import { formatOf, isSame, type Place } from "../../src/commands/install/format.ts";

/** Whatever the file holds: the entry goes in, everything else means the same, and out again the bytes are the old ones. */
const PLACE: Place = { key: "servers", name: "camel", list: false };
const LIST: Place = { ...PLACE, list: true };
const ENTRY = { name: "camel", command: "npx", args: ["-y", "camel-mcp"], tools: ["*"] };

const key = fc
  .stringMatching(/^[a-z][a-z0-9 ._-]{0,8}$/)
  .filter((name) => name !== "camel" && name !== "servers");
const scalar = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.integer({ min: -1000, max: 1000 }),
  fc.boolean(),
  fc.constantFrom("#", "// no comment", '"', "{", "]", "a: b", "- x", "[servers.camel]"),
);
const tree = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;
const table = fc.dictionary(key, tree, { maxKeys: 3, noNullPrototype: true });
const servers = fc.dictionary(key, table, { minKeys: 1, maxKeys: 3, noNullPrototype: true });

function withServers(before: object, others: unknown, after: object): Record<string, unknown> {
  return { ...before, servers: others, ...after };
}

const RUNS = { numRuns: 300 };

describe("JSON", async () => {
  const json = await formatOf("json");
  const comment = fc.constantFrom("", "// a, b", "/* { */", '// "camel": {}', "/* a\n b */");

  /** Puts comments behind values and commas, and commas behind last values, as a person might. */
  function decorate(text: string, comments: readonly string[], hasTrailingCommas: boolean): string {
    let next = 0;
    const lines = text.split("\n").map((line, index, all) => {
      const isLast = /^\s*[}\]]/.test(all[index + 1] ?? "") && !/[[{]$/.test(line);
      const mark = comments[next++ % comments.length] ?? "";
      return `${line}${isLast && hasTrailingCommas ? "," : ""}${mark === "" ? "" : ` ${mark}`}`;
    });
    return lines.join("\n");
  }

  test("in and out again", () => {
    fc.assert(
      fc.property(
        table,
        servers,
        table,
        fc.constantFrom<(string | undefined)[]>("  ", "    ", "\t", undefined),
        fc.array(comment, { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        fc.boolean(),
        (before, others, after, indent, comments, hasTrailingCommas, isCrlf) => {
          const data = withServers(before, others, after);
          const plain = JSON.stringify(data, null, indent);
          const lf = indent === undefined ? plain : decorate(plain, comments, hasTrailingCommas);
          const text = isCrlf ? lf.replaceAll("\n", "\r\n") : lf;
          const put = json.set(text, PLACE, ENTRY);
          const options = { allowTrailingComma: true };
          expect(
            isSame(parseJsonc(put, [], options), { ...data, servers: { ...others, camel: ENTRY } }),
          ).toBe(true);
          expect(json.set(put, PLACE, ENTRY)).toBe(put);
          expect(json.remove(put, PLACE)).toBe(text);
        },
      ),
      RUNS,
    );
  });
});

describe("TOML", async () => {
  const toml = await formatOf("toml");

  test("in and out again", () => {
    fc.assert(
      fc.property(table, servers, table, fc.boolean(), (before, others, after, hasEnd) => {
        const data = withServers(before, others, after);
        const body = `# first\n${stringifyToml(data)}# last`;
        const text = hasEnd ? `${body}\n` : body;
        const put = toml.set(text, PLACE, ENTRY);
        expect(
          isSame(parseToml(put), {
            ...parseToml(text),
            servers: { ...(parseToml(text)["servers"] as object), camel: ENTRY },
          }),
        ).toBe(true);
        expect(toml.set(put, PLACE, ENTRY)).toBe(put);
        expect(toml.remove(put, PLACE)).toBe(hasEnd ? text : `${text}\n`);
      }),
      RUNS,
    );
  });
});

describe("YAML", async () => {
  const yaml = await formatOf("yaml");
  const style = fc.record({
    indent: fc.constantFrom(2, 3, 4),
    indentSeq: fc.boolean(),
    collectionStyle: fc.constantFrom("flow", "any"),
  });

  test("a map: in and out again", () => {
    fc.assert(
      fc.property(table, servers, table, style, (before, others, after, options) => {
        const data = withServers(before, others, after);
        const text = `# first\n${stringifyYaml(data, options)}# last\n`;
        const put = yaml.set(text, PLACE, ENTRY);
        expect(isSame(parseYaml(put), { ...data, servers: { ...others, camel: ENTRY } })).toBe(true);
        expect(yaml.set(put, PLACE, ENTRY)).toBe(put);
        expect(yaml.remove(put, PLACE)).toBe(text);
      }),
      RUNS,
    );
  });

  test("a list: in and out again", () => {
    fc.assert(
      fc.property(
        table,
        fc.array(table, { minLength: 1, maxLength: 3 }),
        table,
        style,
        (before, others, after, options) => {
          const data = withServers(before, others, after);
          const text = `# first\n${stringifyYaml(data, options)}# last\n`;
          const put = yaml.set(text, LIST, ENTRY);
          expect(isSame(parseYaml(put), { ...data, servers: [...others, ENTRY] })).toBe(true);
          expect(yaml.set(put, LIST, ENTRY)).toBe(put);
          expect(yaml.remove(put, LIST)).toBe(text);
        },
      ),
      RUNS,
    );
  });

  test.each([
    ["servers:\n", "servers:\n  camel:\n    command: npx\n"],
    ["servers: {} # none\nother: 1\n", "servers: # none\n  camel:\n    command: npx\nother: 1\n"],
    ["servers:\n# none\nother: 1", "servers:\n  camel:\n    command: npx\n# none\nother: 1"],
    ["servers: {a: {b: 1}}\n", 'servers: {a: {b: 1}, "camel":{"command":"npx"}}\n'],
    ["{}", '{"servers":{"camel":{"command":"npx"}}}'],
    ['{ "a": 1 }\n', '{ "a": 1, "servers":{"camel":{"command":"npx"}} }\n'],
    ['{ "servers": {}, "a": 1 }', '{ "servers": {"camel":{"command":"npx"}}, "a": 1 }'],
    ["other: 1", "other: 1\nservers:\n  camel:\n    command: npx\n"],
    [
      "servers:\n    a:\n        b: 1\n        # of a\n\n    # of servers\n\n# end\n",
      "servers:\n    a:\n        b: 1\n        # of a\n\n    # of servers\n    camel:\n      command: npx\n\n# end\n",
    ],
    ["servers: {\n  a: 1 # of a\n}\n", 'servers: {\n  a: 1, "camel":{"command":"npx"} # of a\n}\n'],
    ["servers: {\n  a: 1, # of a\n}\n", 'servers: {\n  a: 1, "camel":{"command":"npx"} # of a\n}\n'],
    [
      "servers:\n  a:\n    b: |\n      text\n\nother: 1\n",
      "servers:\n  a:\n    b: |\n      text\n  camel:\n    command: npx\n\nother: 1\n",
    ],
  ])("%j", (before, after) => {
    expect(yaml.set(before, PLACE, { command: "npx" })).toBe(after);
  });

  test("a comment beside another entry in braces stays when ours goes", () => {
    expect(yaml.remove("servers: {\n  a: 1, # of a\n  camel: {b: 2}\n}\n", PLACE)).toBe(
      "servers: {\n  a: 1 # of a\n}\n",
    );
  });

  test("fields change one by one, comments beside them stay", () => {
    const text =
      "servers:\n- name: camel # ours\n  command: old # was\n  args:\n  - a\n  mine: 1 # keep\n- name: b\n";
    expect(yaml.set(text, LIST, { name: "camel", url: "http://x", mine: 1 })).toBe(
      "servers:\n- name: camel # ours\n  mine: 1 # keep\n  url: http://x\n- name: b\n",
    );
  });
});

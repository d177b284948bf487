import { describe, expect, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { call, sandbox, startCamel } from "../harness.ts";
import { HOSTILE_PROGRAMS } from "./js-corpus.ts";
import { untilGone } from "./until-gone.ts";

async function makeTools(
  camel: Camel,
  tools: Record<string, { source: string; rest?: object; seconds?: number }>,
): Promise<void> {
  for (const [name, { rest, source, seconds = 20 }] of Object.entries(tools)) {
    const strategy = { type: "js", source, ...rest };
    const made = await call(camel, "tool_create", {
      action: "create",
      definition: { name, description: "x", timeout_seconds: seconds, strategy },
    });
    expect(made.isError, made.text).toBeUndefined();
  }
}

describe("js tools", () => {
  test(`${Object.keys(HOSTILE_PROGRAMS).length} hostile programs are contained while the server answers`, async () => {
    const camel = await startCamel(await sandbox());
    await makeTools(camel, { echo_it: { source: "return input.input;" } });
    const before = process.memoryUsage().rss;
    let answered = 0;
    let over = false;
    // Another caller, all the while.
    const others = (async () => {
      while (!over) {
        const listed = await call(camel, "tool_create", { action: "search", query: "nothing" });
        expect(listed.isError).toBeUndefined();
        answered += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const entries = Object.entries(HOSTILE_PROGRAMS);
    expect(entries.length).toBeGreaterThanOrEqual(40);
    const attack = async ([what, source]: [string, string], index: number): Promise<void> => {
      const name = `hostile_${index}`;
      await makeTools(camel, {
        [name]: { source, rest: { tools: ["echo_it"], memory_mb: 16, max_calls: 20 }, seconds: 0.3 },
      });
      const result = await call(camel, name, { input: "x" });
      expect(result.isError, `${what}: ${result.text.slice(0, 200)}`).toBe(true);
      expect(["timeout", "tool_failed", "too_large"], what).toContain(result.code);
      expect(result.text, what).not.toMatch(/root:|PATH|"pid"/);
    };
    for (let at = 0; at < entries.length; at += 4)
      await Promise.all(entries.slice(at, at + 4).map((entry, index) => attack(entry, at + index)));
    over = true;
    await others;
    expect(answered).toBeGreaterThan(entries.length);
    expect((await call(camel, "echo_it", { input: "still here" })).text).toBe("still here");
    expect(({} as Record<string, unknown>)["value"]).toBeUndefined();
    expect(process.memoryUsage().rss - before).toBeLessThan(600 * 2 ** 20);
  });

  test.each([
    ["const f = (n) => f(n + 1) + 1; return f(0);", "called itself too deeply", "loop"],
    ["const a = []; for (;;) a.push('x'.repeat(1e6) + a.length);", "ran out of memory", "memory_mb"],
  ])("says what was too much: %s", async (source, what, next) => {
    const camel = await startCamel(await sandbox());
    await makeTools(camel, { too_much: { source, rest: { memory_mb: 16 } } });
    const { text } = await call(camel, "too_much", { input: "x" });
    expect(text).toContain(what);
    expect(text).toContain(next);
  });

  test("tools that call tools don't wait for each other's threads", async () => {
    const camel = await startCamel(await sandbox());
    await makeTools(camel, {
      inner: { source: "return input.input;" },
      middle: { source: "return (await tools.inner(input)).text;", rest: { tools: ["inner"] } },
      outer: { source: "return (await tools.middle(input)).text;", rest: { tools: ["middle"] } },
    });
    const results = await Promise.all(
      Array.from({ length: 16 }, (_, index) => call(camel, "outer", { input: `number ${index}` })),
    );
    expect(results.map((one) => one.text)).toEqual(results.map((_, index) => `number ${index}`));
  });

  test("types that take for ever to read hold up nobody", async () => {
    const camel = await startCamel(await sandbox());
    let made = false;
    const making = call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "slow_types",
        description: "x",
        strategy: { type: "js", language: "ts", source: "<T>(x=".repeat(19) },
      },
    }).finally(() => (made = true));
    await new Promise((resolve) => setImmediate(resolve));
    // The server goes on meanwhile: it would answer only afterwards if it read the types itself.
    let answered = 0;
    while (!made) {
      await call(camel, "tool_create", { action: "search", query: "nothing" });
      answered += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(answered).toBeGreaterThan(20);
    expect(await making).toMatchObject({ isError: true, code: "invalid_input" });
  });

  test("arguments too long for any tool don't leave the sandbox", async () => {
    const camel = await startCamel(await sandbox());
    await makeTools(camel, {
      echo_it: { source: "return 'reached';" },
      sends_much: {
        source: "return await tools.call('echo_it', { input: 'x'.repeat(600000) }).catch((e) => e.message);",
        rest: { tools: ["echo_it"] },
      },
    });
    expect((await call(camel, "sends_much", { input: "x" })).text).toContain("arguments are longer than");
  });

  test("works: values, promises, tools, TypeScript", async () => {
    const camel = await startCamel(await sandbox());
    await makeTools(camel, {
      add_up: {
        source:
          "export default ({ input }) => ({ sum: input.split(',').map(Number).reduce((a, b) => a + b, 0) });",
      },
      twice: {
        source: "const a = await tools.add_up({ input: input.input }); return a.data.value.sum * 2;",
        rest: { tools: ["add_up"] },
      },
      typed: {
        source:
          "interface In { input: string }\nenum Size { Big = 7 }\nexport default function (input: In): number { const n: number = Size.Big; return (input.input as string).length + n; }",
        rest: { language: "ts" },
      },
    });
    await makeTools(camel, {
      forgets: { source: "function main() { return 1 }\nmain();" },
      throws_object: { source: "throw { code: 5, message: 'told' };" },
    });
    expect((await call(camel, "forgets", { input: "" })).structured).toMatchObject({
      output: "null",
      notice: expect.stringContaining("needs a return") as string,
    });
    expect((await call(camel, "throws_object", { input: "" })).text).toContain("told");
    expect((await call(camel, "add_up", { input: "1,2,3" })).structured).toMatchObject({ value: { sum: 6 } });
    expect((await call(camel, "twice", { input: "1,2,3" })).text).toBe("12");
    expect((await call(camel, "typed", { input: "abc" })).text).toBe("10");
  });

  test("what a source returns or replaces can't upset the answer", async () => {
    const camel = await startCamel(await sandbox());
    const sources: Record<string, [source: string, text: string]> = {
      a_function: ["return () => 1;", "null"],
      a_symbol: ["return Symbol('x');", "null"],
      nothing: ["return undefined;", "null"],
      hides_itself: ["return { toJSON() { return undefined; } };", "null"],
      no_json: ["JSON.stringify = () => { for (;;) {} }; return 1;", "1"],
      odd_json: ["JSON.stringify = () => '{'; JSON.parse = () => 5; return 'x';", "x"],
      odd_tools: ["globalThis.__tools = '['; Object.freeze(globalThis); return 2;", "2"],
      an_arrow: ["(input) => input.input + 'a'", "a"],
      a_named_function: ["// says b\nasync function run(input) { return 'b' + input.input; }\n", "b"],
      helpers_first: ["function help() { return 'c'; }\nreturn help();", "c"],
      one_export: ["export function run() { return 'd'; }", "d"],
      on_one_line: ["const a = 3; export default () => a;", "3"],
      exports_later: ["function f() { return 4; } export { f as default };", "4"],
      lost_promise: ["Promise.reject(new Error('lost')); return 5;", "5"],
    };
    for (const [name, [source, text]] of Object.entries(sources)) {
      await makeTools(camel, { [name]: { source } });
      expect(await call(camel, name, { input: "" }), name).toMatchObject({ text });
    }
  });

  test("calls that a source doesn't wait for end with it", async () => {
    const box = await sandbox({ "home/config.yaml": "rules:\n  - { tool: '*', decision: allow }\n" });
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    for (const [name, command_template] of [
      ["sleeps", "sh -c 'echo $$ > pid; exec sleep 300'"],
      ["shows_pid", "cat pid"],
    ])
      await call(camel, "tool_create", {
        action: "create",
        definition: { name, description: "x", sandbox: "off", strategy: { type: "shell", command_template } },
      });
    const made = await call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "leaves",
        description: "x",
        strategy: {
          type: "js",
          tools: ["sleeps", "shows_pid"],
          max_calls: 200,
          source:
            "tools.sleeps({}); for (;;) { const pid = await tools.shows_pid({}).then((a) => Number(a.text), () => 0); if (pid > 0) return pid; }",
        },
      },
    });
    expect(made.isError, made.text).toBeUndefined();
    const left = await call(camel, "leaves", { input: "" });
    expect(left.isError, left.text).toBeUndefined();
    await untilGone(Number(left.text));
  });

  test("nothing of one call is left for the next", async () => {
    const camel = await startCamel(await sandbox());
    await makeTools(camel, {
      remember: {
        source:
          "globalThis.n = (globalThis.n ?? 0) + 1; Array.prototype.x = globalThis.n; return globalThis.n;",
      },
    });
    for (let at = 0; at < 5; at += 1) expect((await call(camel, "remember", { input: "" })).text).toBe("1");
  });

  test("what isn't JavaScript is refused when the tool is made", async () => {
    const camel = await startCamel(await sandbox());
    for (const source of ["return (;", "export default function ({", "}); import('x'); ({"]) {
      const made = await call(camel, "tool_create", {
        action: "create",
        definition: { name: "bad_js", description: "x", strategy: { type: "js", source } },
      });
      expect(made, source).toMatchObject({ isError: true, code: "invalid_input" });
    }
  });
});

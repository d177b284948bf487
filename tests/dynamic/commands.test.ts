import { spawnSync } from "node:child_process";
import { access, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { coveringEntries, exactEntries } from "../../src/pipeline/allowlist.ts";
import { ruleMatches } from "../../src/pipeline/rules.ts";
import { judgeArgv, judgeCommandLine } from "../../src/tools/dynamic/command-policy.ts";
import { lexCommand } from "../../src/tools/dynamic/command-lexer.ts";
import { createFakeClock } from "../fake-clock.ts";
import { call, sandbox, startCamel } from "../harness.ts";
import { untilGone } from "./until-gone.ts";
import { BENIGN_LINES, HOSTILE_LINES, HOSTILE_TEMPLATES, HOSTILE_VALUES, LISTED } from "./command-corpus.ts";

const policyWith = (shell: object) => configSchema.parse({ shell }).shell;
const generous = policyWith({ allowedCommands: LISTED });

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

describe("command policy", () => {
  test("the corpus is large enough to mean something", () => {
    expect(
      HOSTILE_LINES.length + BENIGN_LINES.length + HOSTILE_VALUES.length + HOSTILE_TEMPLATES.length,
    ).toBeGreaterThan(200);
  });

  test.each(HOSTILE_LINES)("asks about %j, whatever is listed", (line) => {
    expect(judgeCommandLine(line, generous).decision).not.toBe("allow");
  });

  test.each(BENIGN_LINES)("allows %j", (line) => {
    expect(judgeCommandLine(line, generous)).toMatchObject({ decision: "allow" });
  });

  test("by default only four programs, and nothing of the rest", () => {
    const standard = policyWith({});
    for (const line of ["ls -l", "pwd", "cat x", "echo x"])
      expect(judgeCommandLine(line, standard).decision).toBe("allow");
    for (const line of ["head x", "git log", "ls; id"])
      expect(judgeCommandLine(line, standard).decision).toBe("ask");
  });

  test("a denied program is denied however it is written, alone, in a compound and behind another one", () => {
    const policy = policyWith({ allowedCommands: LISTED, deniedCommands: ["rm", "git push *"] });
    for (const line of [
      "rm -rf x",
      "/bin/rm x",
      "r'm' x",
      "\\rm x",
      "RM x",
      "ls; rm x",
      "ls | xargs rm",
      "sudo rm x",
      "env A=b /bin/rm x",
      "sh -c 'ls; rm x'",
      "find . -exec rm {} +",
      "echo $(rm x)",
      "busybox rm x",
      "git push origin",
      "git push",
      "GIT push origin",
      "git -C x push origin",
      "git --no-pager push",
      "git -c a=b push origin",
      "sudo git push origin",
      "sh -c 'cd x && git push'",
      "ls && /usr/bin/git push origin",
      "git push > log",
    ])
      expect(judgeCommandLine(line, policy).decision, line).toBe("deny");
    for (const line of ["echo rm", "ls rm", "cat form.txt", "git pull", "git log push", "git status > x"])
      expect(judgeCommandLine(line, policy).decision, line).not.toBe("deny");
  });

  test("patterns are matched word by word", () => {
    const policy = policyWith({ allowedCommands: ["mytool run *", "mytool status"] });
    expect(judgeArgv(["mytool", "run", "a", "b"], policy).decision).toBe("allow");
    expect(judgeArgv(["mytool", "status"], policy).decision).toBe("allow");
    expect(judgeArgv(["mytool", "status", "x"], policy).decision).toBe("ask");
    expect(judgeArgv(["mytool run x"], policy).decision).toBe("ask");
    expect(judgeArgv(["./mytool", "run"], policy).decision).toBe("ask");
  });

  test("a command that is written out is vetted by whoever wrote it, one with a wildcard isn't", () => {
    const policy = policyWith({
      allowedCommands: ["npm test", "make *", "cargo test *", "git *", "python3"],
    });
    expect(judgeCommandLine("npm test", policy).decision).toBe("allow");
    expect(judgeCommandLine("git log -n 3", policy).decision).toBe("allow");
    expect(judgeCommandLine("make all", policy).why).toContain("written out");
    for (const line of [
      "npm test --script-shell=./x",
      "npm run test",
      "make all",
      "cargo test --config build.rustc-wrapper=./x",
      "git -c core.pager=./x log",
      "python3",
      "python3 x.py",
    ])
      expect(judgeCommandLine(line, policy).decision, line).toBe("ask");
  });

  test("one more segment never widens, and any quoting of words gives them back", () => {
    const word = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => !/[`\0]/.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (words) => {
        const line = words.map((one) => `'${one.replaceAll("'", `'"'"'`)}'`).join(" ");
        const lexed = lexCommand(line);
        expect("parts" in lexed && lexed.parts.map((part) => part.text)).toEqual(words);
      }),
    );
    const line = fc.constantFrom(...HOSTILE_LINES, ...BENIGN_LINES);
    fc.assert(
      fc.property(line, line, (one, other) => {
        if (
          judgeCommandLine(one, generous).decision !== "allow" &&
          !/^\s*$/.test(one) &&
          !/['"\\]$/.test(one)
        )
          expect(judgeCommandLine(`${one}; ${other}`, generous).decision).not.toBe("allow");
      }),
    );
  });
});

describe("patterns of rules and of the allowlist", () => {
  const facts = (command: string) => ({
    tool: "run_it",
    effect: "exec" as const,
    paths: [],
    commands: [command],
    urls: [],
    needsApproval: false,
  });
  const rule = (decision: "allow" | "deny", command: string) => ({ tool: "*", decision, command });

  test("a wildcard lets nothing pass that starts other programs", () => {
    for (const [pattern, command, passes] of [
      ["git *", "git status", true],
      ["git *", "git log --oneline", true],
      ["git *", 'git -c "alias.x=!touch CANARY" x', false],
      ["git *", "git push", false],
      ["find *", "find . -delete", false],
      ["find *", "find . -name x", true],
      ["npm *", "npm test", false],
      ["npm test", "npm test", true],
      ["python3 *", "python3 x.py", false],
      ["mytool *", "mytool anything", true],
      ["*", "python3 x.py", true],
    ] as const) {
      expect(ruleMatches(rule("allow", pattern), facts(command)), `${pattern}: ${command}`).toBe(passes);
      const entries = coveringEntries([`run_it:${pattern}`], facts(command));
      expect(entries !== undefined, `${pattern}: ${command}`).toBe(passes);
    }
  });

  test("a rule that denies a command isn't got round by its spelling", () => {
    for (const command of [
      "rm -r x",
      "/bin/rm -r x",
      "RM -r x",
      "sudo rm -r x",
      'sh -c "cd a; rm -r x"',
      "xargs rm",
    ])
      expect(ruleMatches(rule("deny", "rm *"), facts(command)), command).toBe(true);
    expect(ruleMatches(rule("deny", "rm *"), facts("ls rm"))).toBe(false);
  });

  test("always is never offered for what runs anything, whatever its number", () => {
    for (const program of ["python3.12", "php8.2", "/usr/bin/env", "gawk", "ksh93", "lua5.4", "make", "sudo"])
      expect(exactEntries(facts(`${program} x`)), program).toBeUndefined();
    expect(exactEntries(facts("ls -l"))).toEqual(["run_it:ls -l"]);
  });
});

describe("shell tools, run for real beside a canary", () => {
  const open = { "home/config.yaml": "rules:\n  - { tool: '*', decision: allow }\n" };

  test("every hostile value reaches the program as one argument and nothing else happens", async () => {
    const box = await sandbox({ ...open, "workspace/file.txt": "content\n" });
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    const made = await call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "print_it",
        description: "Prints its arguments.",
        strategy: { type: "shell", command_template: "printf '[%s]' {{input}} fixed {{input}}" },
      },
    });
    expect(made.isError, made.text).toBeUndefined();
    for (const value of HOSTILE_VALUES) {
      const result = await call(camel, "print_it", { input: value });
      expect(result.structured?.["output"], value).toBe(`[${value}][fixed][${value}]`);
    }
    expect(await readdir(box.workspace)).toEqual(["file.txt"]);
    expect(await exists(join(box.workspace, "..", "CANARY"))).toBe(false);
  });

  test("every line that needs no approval leaves everything as it was", async () => {
    const box = await sandbox({ "workspace/file": "b\na\n", "workspace/a": "1\n", "workspace/b": "2\n" });
    const before = await readdir(box.workspace);
    for (const line of BENIGN_LINES) {
      const lexed = lexCommand(line);
      const argv = "parts" in lexed ? lexed.parts.map((part) => part.text) : [];
      // Of a compound the first command; a program that isn't installed here changes nothing either.
      const end = argv.findIndex((word) => [";", "&&", "|"].includes(word));
      const [program = "", ...args] = end < 0 ? argv : argv.slice(0, end);
      spawnSync(program, args, {
        cwd: box.workspace,
        env: { PATH: process.env["PATH"], HOME: box.home },
        timeout: 5_000,
        input: "",
      });
      expect(await readdir(box.workspace), line).toEqual(before);
    }
    expect(await readFile(join(box.workspace, "file"), "utf8")).toBe("b\na\n");
  });

  test("any text at all reaches the program unchanged", async () => {
    const camel = await startCamel(await sandbox(open), { env: { PATH: process.env["PATH"] } });
    await call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "print_it",
        description: "Prints its argument.",
        strategy: { type: "shell", command_template: "printf %s {{input}}" },
        sandbox: "off",
      },
    });
    const value = fc
      .string({ unit: "grapheme", maxLength: 40 })
      .filter((text) => !text.includes("\0") && !text.startsWith("-"));
    await fc.assert(
      fc.asyncProperty(value, async (input) => {
        expect((await call(camel, "print_it", { input })).structured?.["output"]).toBe(input);
      }),
      { numRuns: 60 },
    );
  });

  test("every hostile template is refused when the tool is made", async () => {
    const box = await sandbox(open);
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    for (const command_template of HOSTILE_TEMPLATES) {
      const made = await call(camel, "tool_create", {
        action: "create",
        definition: { name: "bad_tool", description: "x", strategy: { type: "shell", command_template } },
      });
      expect(made.isError, command_template).toBe(true);
    }
    expect(await readdir(box.workspace)).toEqual([]);
  });

  test("a value with a leading dash is refused unless it comes after -- or is declared", async () => {
    const box = await sandbox({ ...open, "workspace/-x": "dash\n" });
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    const make = (name: string, strategy: object) =>
      call(camel, "tool_create", {
        action: "create",
        definition: { name, description: "x", strategy: { type: "shell", ...strategy } },
      });
    await make("show_plain", { command_template: "cat {{input}}" });
    await make("show_after", { command_template: "cat -- {{input}}" });
    await make("say_declared", { command_template: "echo {{input}}", dash_values: ["input"] });
    expect(await call(camel, "show_plain", { input: "-x" })).toMatchObject({
      isError: true,
      code: "invalid_input",
    });
    expect(await call(camel, "show_plain", { input: "--version" })).toMatchObject({ isError: true });
    expect((await call(camel, "show_after", { input: "-x" })).text).toBe("dash\n");
    expect((await call(camel, "say_declared", { input: "-z" })).text).toBe("-z\n");
    expect(await call(camel, "show_plain", { input: "a\0b" })).toMatchObject({
      isError: true,
      code: "invalid_input",
    });
  });

  test("pipelines, exit codes, output caps and times", async () => {
    const box = await sandbox({ ...open, "workspace/words.txt": "b\na\nb\n" });
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    const make = async (name: string, strategy: object, rest: object = {}): Promise<void> => {
      const made = await call(camel, "tool_create", {
        action: "create",
        definition: { name, description: "x", strategy: { type: "shell", ...strategy }, ...rest },
      });
      expect(made.isError, made.text).toBeUndefined();
    };
    await make("count_words", { pipeline: ["cat words.txt", "sort", "uniq -c", "head -n 1"] });
    expect((await call(camel, "count_words", {})).text.trim()).toBe("1 a");
    await make("first_of_many", { pipeline: ["yes", "head -n 2"] });
    expect((await call(camel, "first_of_many", {})).text).toBe("y\ny\n");
    await make("no_match", { command_template: "grep -c zzz words.txt" });
    const failed = await call(camel, "no_match", {});
    expect(failed).toMatchObject({ isError: true, code: "tool_failed" });
    expect(failed.text).toContain("status=1\nstdout:\n0");
    await make("no_match_is_fine", { command_template: "grep -c zzz words.txt", success_codes: [0, 1] });
    expect((await call(camel, "no_match_is_fine", {})).text).toBe("0\n");
    await make("endless", { command_template: "yes" });
    const cut = await call(camel, "endless", {});
    expect(cut.text).toMatch(/^\(cut: the program wrote more than 8192 bytes/);
    expect(cut.structured).toMatchObject({ notice: expect.stringContaining("8192") as string });
    expect(cut.isError).toBeUndefined();
    await make("too_slow", { command_template: "sleep 20" }, { timeout_seconds: 0.2 });
    expect(await call(camel, "too_slow", {})).toMatchObject({ isError: true, code: "timeout" });
    await make("asks_stdin", { command_template: "cat" });
    expect((await call(camel, "asks_stdin", {})).text).toBe("");
  });

  test.skipIf(process.platform === "win32")(
    "what a program started ends with it, in time or not",
    async () => {
      const box = await sandbox(open);
      const clock = createFakeClock();
      const env = { PATH: process.env["PATH"] };
      const [camel, later] = [await startCamel(box, { env }), await startCamel(box, { env, clock })];
      const make = (name: string, command_template: string) =>
        call(camel, "tool_create", {
          action: "create",
          definition: {
            name,
            description: "x",
            strategy: { type: "shell", command_template },
            sandbox: "off",
          },
        });
      await make("leaves_behind", "sh -c 'sleep 300 & echo $!'");
      await make("hangs_with_child", "sh -c 'sleep 300 & echo $! | tee child.pid; wait'");
      // Out of its group: only Linux tells whose it is.
      const detach = process.platform === "linux" ? "setsid " : "";
      await make("hangs_with_daemon", `sh -c '${detach}sleep 300 & echo $! | tee daemon.pid; wait'`);
      const pids = [Number((await call(camel, "leaves_behind", {})).text)];
      for (const kind of ["child", "daemon"]) {
        const hanging = call(later, `hangs_with_${kind}`, {});
        const pidOf = () => readFile(join(box.workspace, `${kind}.pid`), "utf8").then(Number, () => 0);
        await expect.poll(pidOf).toBeGreaterThan(1);
        pids.push(await pidOf());
        clock.advance(3_600_000);
        expect(await hanging).toMatchObject({ isError: true, code: "timeout" });
      }
      for (const pid of pids) {
        expect(pid).toBeGreaterThan(1);
        await untilGone(pid);
      }
    },
  );

  test("the environment is an allow-list, and names that load code are refused", async () => {
    const box = await sandbox(open);
    const camel = await startCamel(box, {
      env: { PATH: process.env["PATH"], SECRET_THING: "hidden", LANG: "C", WANTED: "yes" },
    });
    const make = (name: string, strategy: object) =>
      call(camel, "tool_create", {
        action: "create",
        definition: { name, description: "x", strategy: { type: "shell", ...strategy } },
      });
    await make("show_env", { command_template: "env", inherit_env: ["WANTED"], env: { FIXED: "1" } });
    const shown = (await call(camel, "show_env", {})).text.split("\n").map((line) => line.split("=")[0]);
    expect(shown).toEqual(expect.arrayContaining(["PATH", "WANTED", "FIXED", "LANG"]));
    expect(shown).not.toContain("SECRET_THING");
    for (const name of [
      "LD_PRELOAD",
      "ld_preload",
      "BASH_ENV",
      "PATH",
      "path",
      "NODE_OPTIONS",
      "GIT_SSH_COMMAND",
      "PYTHONSTARTUP",
      "IFS",
    ])
      expect((await make("bad_env", { command_template: "env", env: { [name]: "x" } })).isError, name).toBe(
        true,
      );
    expect((await make("bad_env", { command_template: "env", env: { OK: "{{input}}" } })).isError).toBe(true);
  });
});

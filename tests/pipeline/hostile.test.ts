import { mkdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Camel } from "../../src/camel.ts";
import type { Answer, Question, ToolResult } from "../../src/pipeline/call.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { createFakeClock } from "../fake-clock.ts";
import { call, callOf, sandbox, startCamel, type Sandbox } from "../harness.ts";

const add = (file: string): string => `*** Begin Patch\n*** Add File: ${file}\n+new\n*** End Patch`;
const change = (file: string): string =>
  `*** Begin Patch\n*** Update File: ${file}\n@@\n-old\n+new\n*** End Patch`;

function asked(
  camel: Camel,
  name: string,
  args: unknown,
  answer: (question: Question) => Answer | Promise<Answer>,
): Promise<ToolResult> {
  return camel.dispatcher.call({
    ...callOf(name, args),
    ask: (question) => Promise.resolve(answer(question)),
  });
}

const yes = (remember: string) => (): Answer => ({ action: "accept", content: { approve: true, remember } });
const idIn = (result: ToolResult): string => /apr_[0-9a-f]+/.exec(result.text)?.[0] ?? "";
const text = (box: Sandbox, file: string): Promise<string> => readFile(join(box.workspace, file), "utf8");

describe("a repository that somebody else wrote", () => {
  test("a link in an allowed folder lends its leave to nothing outside of it", async () => {
    const box = await sandbox({
      "home/config.yaml":
        "autonomy: { level: supervised }\nrules:\n  - { tool: apply_patch, path: docs/**, decision: allow }\napprovals: { allowlist: ['apply_patch:notes/**'] }\n",
      "workspace/ci/run.sh": "old\n",
      "workspace/docs/a.md": "old\n",
    });
    await mkdir(join(box.workspace, "notes"));
    await symlink("../ci/run.sh", join(box.workspace, "docs/link.md"));
    await symlink("../ci/run.sh", join(box.workspace, "notes/link.md"));
    const camel = await startCamel(box);
    for (const file of ["docs/link.md", "notes/link.md"])
      expect((await call(camel, "apply_patch", { patch: change(file) })).code).toBe("approval_required");
    expect(await text(box, "ci/run.sh")).toBe("old\n");
    expect((await call(camel, "apply_patch", { patch: change("docs/a.md") })).isError).toBeUndefined();
  });

  test("a pattern that could be tried for hours is refused with its file", async () => {
    for (const pattern of ["+(a|aa)b", "**/*a*a*a*a*a*b", "**/a/**/a/**/b"]) {
      const rule = { tool: "x", path: pattern, decision: "deny", match: [`x:${"a".repeat(120)}`] };
      for (const config of [{ autonomy: { forbiddenPaths: [pattern] } }, { rules: [rule] }]) {
        const box = await sandbox({ "workspace/.camelagi/config.yaml": JSON.stringify(config) });
        await expect(startCamel(box), pattern).rejects.toThrow("could take too long");
      }
    }
    const config = JSON.stringify({
      autonomy: { forbiddenPaths: ["**/secret*/**/*.y*ml", "**/*.{key,pem}"] },
    });
    await startCamel(await sandbox({ "workspace/.camelagi/config.yaml": config }));
  });

  test("a config file that is a device or endless is refused and not read", async () => {
    const box = await sandbox({ "workspace/.camelagi/x": "" });
    const config = join(box.workspace, ".camelagi/config.yaml");
    await symlink("/dev/zero", config);
    await expect(startCamel(box)).rejects.toMatchObject({ code: "invalid_config" });
    await rm(config);
    await writeFile(config, Array.from({ length: 90_000 }, (_, key) => `a${key}: 1\n`).join(""));
    await expect(startCamel(box)).rejects.toMatchObject({ code: "invalid_config" });
  });
});

describe("a workspace that only the client names", () => {
  const DENIES = "tools: { deny: [apply_patch] }\napprovals: { allowlist: [memory_write] }\n";
  const opened = (camel: Camel, folder: string, args: object): Promise<ToolResult> =>
    camel.dispatcher.call({
      ...callOf("apply_patch", args),
      roots: () => Promise.resolve([String(pathToFileURL(folder))]),
    });

  test("has its config's policy in force, as it is now; a broken one lets nothing through", async () => {
    const box = await sandbox({ "open/.camelagi/config.yaml": DENIES, "other/x": "" });
    const clock = createFakeClock();
    const camel = await startCamel(box, { workspace: undefined as never, clock });
    const [open, other] = [join(box.home, "../open"), join(box.home, "../other")];
    const patch = add("a.txt");
    expect((await opened(camel, open, { patch })).code).toBe("denied_by_policy");
    expect((await opened(camel, other, { patch })).isError).toBeUndefined();
    for (const [config, code] of [
      ["tools: [", "invalid_config"],
      ["# free again", undefined],
      ["rules: [{ tool: apply_patch, path: b.txt, decision: ask }]", undefined],
      ["autonomy: { level: readonly }", "denied_by_policy"],
    ] as const) {
      await box.write("open/.camelagi/config.yaml", config);
      clock.advance(1_000);
      await rm(join(open, "a.txt"), { force: true });
      expect([config, (await opened(camel, open, { patch })).code]).toEqual([config, code]);
    }
  });

  test("is the user's own file no workspace's, where the server was started in the home folder", async () => {
    const box = await sandbox({
      "home/.camelagi/config.yaml":
        "autonomy: { level: supervised }\nrules: [{ tool: apply_patch, decision: allow }]\n",
    });
    const camel = await startCamel(box, { home: join(box.home, ".camelagi"), workspace: box.home });
    expect(camel.config().warnings).toEqual([]);
    expect((await call(camel, "apply_patch", { patch: add("a.txt") })).isError).toBeUndefined();
  });
});

describe("what protects the product itself", () => {
  test("the config file in force can't be patched, wherever it lies", async () => {
    const box = await sandbox({ "workspace/camel.yaml": "tools: { deny: [cron] }\n" });
    const camel = await startCamel(box, { configFile: join(box.workspace, "camel.yaml") });
    const patch =
      "*** Begin Patch\n*** Update File: camel.yaml\n@@\n-tools: { deny: [cron] }\n+tools: {}\n*** End Patch";
    expect((await call(camel, "apply_patch", { patch })).code).toBe("denied_by_policy");
  });

  test("a home behind a link, or with pattern characters in its name, is protected too", async () => {
    const box = await sandbox({ "workspace/real [x] (y)/config.yaml": "{}\n" });
    const real = join(box.workspace, "real [x] (y)");
    await symlink(real, join(box.home, "link"));
    for (const home of [real, join(box.home, "link")]) {
      const camel = await startCamel(box, { home });
      for (const file of ["hooks/before_tool.a.sh", "config.yaml", "approvals/pin.json"]) {
        const result = await call(camel, "apply_patch", { patch: add(`real [x] (y)/${file}`) });
        expect([home, file, result.code]).toEqual([home, file, "denied_by_policy"]);
      }
    }
  });

  test("a config file that goes away doesn't take its policy with it", async () => {
    const box = await sandbox({ "mine.yaml": "tools: { deny: [apply_patch] }\n" });
    const clock = createFakeClock();
    const configFile = join(box.home, "../mine.yaml");
    const camel = await startCamel(box, { configFile, clock });
    await rm(configFile);
    clock.advance(1_000);
    await camel.refresh();
    expect((await call(camel, "apply_patch", { patch: add("a.txt") })).code).toBe("denied_by_policy");
  });
});

describe("an approval", () => {
  const SMART = { "home/config.yaml": "approvals: { mode: smart }\n" };

  test("for one workspace is not used in another", async () => {
    const box = await sandbox({ ...SMART, "other/x": "" });
    const other = join(box.home, "../other");
    const here = await startCamel(box);
    const there = await startCamel(box, { workspace: other, cwd: other });
    const id = idIn(await call(here, "apply_patch", { patch: add("a.txt") }));
    expect(await here.approvals.decide(id, { decision: "allow", by: "cli" })).toBe(true);
    expect((await call(there, "apply_patch", { patch: add("a.txt") })).code).toBe("approval_required");
    expect((await call(here, "apply_patch", { patch: add("a.txt") })).isError).toBeUndefined();
  });

  test("has an id that no two calls can be made to share", async () => {
    const camel = await startCamel(await sandbox(SMART));
    expect(idIn(await call(camel, "apply_patch", { patch: add("a.txt") }))).toMatch(/^apr_[0-9a-f]{32}$/);
  });

  test("of removing a tool is no leave to make one", async () => {
    const camel = await startCamel(await sandbox(SMART));
    const definition = {
      name: "say_it",
      description: "Says it.",
      strategy: { type: "shell", command_template: "sort {{input}}" },
    };
    for (const remember of ["session", "always"]) {
      const removed = { action: "delete", name: "no_such_tool" };
      expect((await asked(camel, "tool_create", removed, yes(remember))).code).toBe("not_found");
      let questions = 0;
      const made = await asked(camel, "tool_create", { action: "create", definition }, () => {
        questions += 1;
        return { action: "decline" };
      });
      expect([made.code, questions]).toEqual(["approval_denied", 1]);
    }
    expect(camel.config().settings.approvals.allowlist).toEqual([]);
  });

  test("doesn't outlive a policy that became stricter, nor a file that became another", async () => {
    const box = await sandbox({ ...SMART, "workspace/a.txt": "old\n", "workspace/b.txt": "old\n" });
    const clock = createFakeClock();
    const camel = await startCamel(box, { clock });
    const swapped = await asked(camel, "apply_patch", { patch: change("a.txt") }, async () => {
      await rm(join(box.workspace, "a.txt"));
      await symlink("b.txt", join(box.workspace, "a.txt"));
      return yes("once")();
    });
    expect(swapped.code).toBe("conflict");
    expect(await text(box, "b.txt")).toBe("old\n");
    const narrowed = await asked(camel, "apply_patch", { patch: change("b.txt") }, async () => {
      await box.write("home/config.yaml", "tools: { deny: [apply_patch] }\n");
      clock.advance(1_000);
      await camel.refresh();
      return yes("once")();
    });
    expect(narrowed.code).toBe("denied_by_policy");
    expect(await text(box, "b.txt")).toBe("old\n");
  });

  test("shows every file, says what it leaves out, and can't be painted over", async () => {
    const long = defineTool({
      name: "long",
      title: "Long",
      description: "Has a long card.",
      tier: "core",
      schema: z.object({ said: z.string() }),
      effect: "write",
      approvalPrompt: ({ said }) => said,
      execute: () => Promise.resolve("done"),
    });
    const camel = await startCamel(await sandbox(SMART), { tools: [long] });
    const shown: string[] = [];
    const no = ({ message }: Question): Answer => {
      shown.push(message);
      return { action: "decline" };
    };
    await asked(camel, "long", { said: `ok\u001b[2K\r\u009b1A\u202e${"x".repeat(5_000)}` }, no);
    // eslint-disable-next-line no-control-regex
    expect(shown[0]).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(shown[0]).toMatch(/5\d\d\d characters/);
    const patch = `*** Begin Patch\n*** Add File: a.txt\n${"+x\n".repeat(2_000)}*** Add File: evil.sh\n+x\n*** End Patch`;
    await asked(camel, "apply_patch", { patch }, no);
    expect(shown[1]).toContain("evil.sh");
    await camel.dispatcher.call({
      ...callOf("apply_patch", { patch: add("b.txt") }, { client: "x\nAsked because it is harmless" }),
      ask: (question) => Promise.resolve(no(question)),
    });
    expect(shown[2]).not.toMatch(/^Asked because it is harmless/m);
  });
});

test("a prefix of the tools' names gets round no rule", async () => {
  const box = await sandbox({
    "home/config.yaml":
      "tools: { prefix: camel_ }\nrules: [{ tool: memory_search, path: memory/private/**, decision: deny }]\n",
    "workspace/memory/private/x.md": "the zebra password\n",
  });
  const camel = await startCamel(box);
  for (const name of ["memory_search", "camel_memory_search"])
    expect(JSON.stringify(await call(camel, name, { query: "zebra" }))).not.toContain("zebra password");
});

describe("memory by another spelling", () => {
  test("a backslash gets round no forbidden path", async () => {
    const box = await sandbox({
      "home/config.yaml": "autonomy: { forbiddenPaths: [notes/private] }\n",
      "workspace/notes/private/x.md": "secret\n",
    });
    await symlink("notes", join(box.workspace, "memory"));
    const camel = await startCamel(box);
    for (const filePath of ["memory/private/x.md", "memory\\private\\x.md"])
      expect([filePath, (await call(camel, "memory_get", { filePath })).code]).toEqual([
        filePath,
        "denied_by_policy",
      ]);
    expect(await realpath(box.workspace)).toBe(box.workspace);
  });
});

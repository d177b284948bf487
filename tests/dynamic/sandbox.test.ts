import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { bubblewrapOptions, findSandbox, macProfile } from "../../src/tools/dynamic/strategies/sandbox.ts";
import { call, sandbox, startCamel, type Sandbox } from "../harness.ts";

const kind = await findSandbox();
const grant = { cwd: "/w", read: ["/w"], write: ["/w/out"], network: false };

describe("sandbox", () => {
  test("bubblewrap gets no network, a read-only system, and write access only where granted", () => {
    const options = bubblewrapOptions(grant).join(" ");
    expect(options).toContain("--unshare-all");
    expect(options).not.toContain("--share-net");
    expect(options).toContain("--ro-bind-try /w /w");
    expect(options).toContain("--bind-try /w/out /w/out");
    expect(options).toContain("--ro-bind-try /w/out/.git /w/out/.git");
    expect(bubblewrapOptions({ ...grant, network: true })).toContain("--share-net");
  });

  test("a path can't become a part of the macOS profile", () => {
    const { parameters, profile } = macProfile({ ...grant, read: ['/w")(allow default'] });
    expect(profile).not.toContain("/w");
    expect(Object.values(parameters)).toContain('/w")(allow default');
    expect(profile).toContain("(deny default)");
    expect(profile).not.toContain("network");
  });

  test.skipIf(kind === undefined)("contains a real program", async () => {
    const box = await sandbox({
      "home/config.yaml": "rules:\n  - { tool: '*', decision: allow }\n",
      "outside.txt": "outside",
    });
    await mkdir(join(box.workspace, "out/.git"), { recursive: true });
    await writeFile(join(box.workspace, "in.txt"), "inside");
    const server = createServer((_, response) => response.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const run = runner(box, "required");
    expect(await run("readFileSync('in.txt','utf8')")).toBe("inside");
    expect(await run("readFileSync('../outside.txt','utf8')")).toContain("ENOENT");
    expect(await run(`readFileSync(${JSON.stringify(box.home)}+'/config.yaml','utf8')`)).toContain("ENOENT");
    expect(await run("writeFileSync('new.txt','x')")).toContain("EROFS");
    expect(await run("writeFileSync('out/new.txt','x') ?? 'written'")).toBe("written");
    expect(await readFile(join(box.workspace, "out/new.txt"), "utf8")).toBe("x");
    expect(await run("writeFileSync('out/.git/hook','x')")).toContain("EROFS");
    expect(await run("writeFileSync('/usr/x','x')")).toMatch(/EROFS|EACCES/);
    expect(
      await run(`await fetch('http://127.0.0.1:${port}').then((r) => r.text(), (e) => 'no network')`),
    ).toBe("no network");
  });

  test.skipIf(kind !== undefined)("required refuses where there is none", async () => {
    const run = runner(
      await sandbox({ "home/config.yaml": "rules:\n  - { tool: '*', decision: allow }\n" }),
      "required",
    );
    expect(await run("1")).toContain("unavailable");
  });

  test("off runs without one and says so", async () => {
    const box = await sandbox({ "home/config.yaml": "rules:\n  - { tool: '*', decision: allow }\n" });
    expect(await runner(box, "off")("1 + 1")).toBe("2");
  });
});

/** A tool that evaluates an expression in Node, with the given sandbox; made at the first call. */
function runner(box: Sandbox, level: string): (expression: string) => Promise<string> {
  const script =
    "import('node:fs').then(async (fs) => { const { readFileSync, writeFileSync } = fs; try { console.log(await eval('(async () => (' + process.argv[1] + '))()')) } catch (e) { console.log(String(e)) } })";
  let made: ReturnType<typeof start> | undefined;
  const start = async () => {
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    const result = await call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "evaluate",
        description: "x",
        strategy: {
          type: "shell",
          command_template: `${process.execPath} -e ${JSON.stringify(script)} -- {{input}}`,
        },
        envelope: { paths: { read: ["."], write: ["out"] } },
        sandbox: level,
      },
    });
    expect(result.isError, result.text).toBeUndefined();
    return camel;
  };
  return async (expression) => {
    made ??= start();
    const result = await call(await made, "evaluate", { input: expression });
    const output = result.structured?.["output"];
    return typeof output === "string" ? output.trim() : result.text;
  };
}

import { execFile } from "node:child_process";
import { chmod, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { connectCamel } from "../../src/client/index.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import { upstream } from "../fixtures/upstream.ts";
import { CLI, sandbox, startHttp, type Sandbox } from "../harness.ts";

const ROOT = new URL("../../", import.meta.url);
/** What a program in a project that has the package installed would find under these names. */
const PACKAGES = {
  "camel-mcp": new URL("dist/index.js", ROOT).href,
  "camel-mcp/client": new URL("dist/client.js", ROOT).href,
  zod: import.meta.resolve("zod"),
};

async function blocksOf(page: string): Promise<{ title: string; language: string; code: string }[]> {
  const text = await readFile(new URL(page, ROOT), "utf8");
  let title = page;
  return [...text.matchAll(/^(?:## (.+)|```(js|json)\n([\s\S]*?)^```)$/gm)].flatMap(
    ([, heading, language = "", code = ""]) => {
      if (heading === undefined) return [{ title, language, code }];
      title = `${page}: ${heading}`;
      return [];
    },
  );
}
const blocks = await blocksOf("docs/client.md");
const examples = [...blocks, ...(await blocksOf("docs/library.md"))].filter(
  (block) => block.language === "js",
);

/** `npx -y camel-mcp` is this build; the address is a server of the test's own. */
async function surroundings(box: Sandbox): Promise<{ env: Record<string, string>; url: string }> {
  const script = `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${CLI}" --home "${box.home}" --workspace "${box.workspace}" "$@"\n`;
  const npx = await box.write("bin/npx", script);
  await chmod(npx, 0o755);
  const server = await startHttp(box);
  const model = await startModel();
  return {
    url: `${server.url}/mcp`,
    env: {
      PATH: [join(npx, ".."), process.env["PATH"] ?? ""].join(delimiter),
      CAMELAGI_HOME: box.home,
      OPENAI_BASE_URL: model,
      OPENAI_API_KEY: "none",
      OPENAI_MODEL: "scripted",
    },
  };
}

/** Looks into the memory, then answers. */
async function startModel(): Promise<string> {
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
      const last = messages.at(-1)!;
      const lookUp = { name: "memory_get", arguments: '{"filePath":"MEMORY.md"}' };
      const message =
        last.role === "user"
          ? {
              role: "assistant",
              content: null,
              tool_calls: [{ id: "1", type: "function", function: lookUp }],
            }
          : { role: "assistant", content: last.content.includes("Tea") ? "You drink tea." : last.content };
      res.setHeader("Content-Type", "application/json");
      res.end(JSON.stringify({ choices: [{ message }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the pages have examples", () => {
  expect(examples.length).toBeGreaterThan(14);
});

test.skipIf(process.platform === "win32").each(examples)("$title", async ({ code }) => {
  const box = await sandbox({
    "workspace/MEMORY.md": "Tea, not coffee.\n",
    "home/config.yaml": "rules:\n  - { tool: memory_write, decision: ask }\n",
  });
  const { env, url } = await surroundings(box);
  const program = code
    .replaceAll(
      /from "(camel-mcp|camel-mcp\/client|zod)"/g,
      (_, name: keyof typeof PACKAGES) => `from "${PACKAGES[name]}"`,
    )
    .replaceAll("http://127.0.0.1:7800/mcp", url)
    .replaceAll("http://127.0.0.1:7801/mcp", (await upstream("2026")).url);
  const file = await box.write("example.mjs", program);
  const printed = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [file], { env, cwd: box.workspace }, (error, stdout, stderr) =>
      error === null && stderr === "" ? resolve(stdout) : reject(new Error(`${stderr}${stdout}`)),
    );
  });
  const promised = [...code.matchAll(/^\s*\/\/ → (.*)$/gm)].map(([, line]) => line);
  expect(printed.split("\n").filter((line) => line !== "")).toEqual(promised);
});

test.skipIf(process.platform === "win32")("the host's entry works as it stands", async () => {
  const box = await sandbox({ "workspace/MEMORY.md": "Tea, not coffee.\n" });
  const { env, url } = await surroundings(box);
  const tokens = createFileTokens({ path: join(box.home, "tokens.json"), clock: systemClock });
  const { secret } = await tokens.create("main");
  const source = blocks.find((block) => block.language === "json")!.code;
  const { mcpServers } = JSON.parse(
    source.replace("http://127.0.0.1:7800/mcp", url).replace("camel_…", secret),
  ) as { mcpServers: { camel: { command: string; args: string[]; env: Record<string, string> } } };
  const { camel } = mcpServers;
  const client = await connectCamel({ ...camel, env: { ...camel.env, PATH: env["PATH"]! } });
  onTestFinished(() => client.close());
  expect((await client.call("memory_get", { filePath: "MEMORY.md" })).text).toContain("Tea");
});

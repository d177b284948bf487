import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { HOST_IDS, hostOf } from "../../src/commands/install/hosts.ts";
import { entryFor } from "../../src/commands/install/request.ts";

const PAGE = new URL("../../docs/install.md", import.meta.url);
const ENTRY = entryFor(
  "cursor",
  { name: "camel", scope: "user", passed: {} },
  { platform: "linux", env: {}, home: "/h", cwd: "/p" },
);

function linkTo(page: string, host: string): URL {
  const found = [...page.matchAll(/\]\((https:[^)]+)\)/g)].map(([, url = ""]) => new URL(url));
  const link = found.find((url) => url.host === host);
  if (link === undefined) throw new Error(`no link to ${host}`);
  return link;
}

test("every host is in the table, with a project file where it has one", async () => {
  const page = await readFile(PAGE, "utf8");
  for (const id of HOST_IDS) {
    const row = page.split("\n").find((line) => line.includes(`| \`${id}\` |`));
    expect(row, id).toContain(`| ${hostOf(id).title} |`);
    expect(row?.split("|")[4]?.trim() !== "", id).toBe(hostOf(id).project !== undefined);
  }
});

test("the one-click links hold what install writes", async () => {
  const page = await readFile(PAGE, "utf8");
  for (const host of ["cursor.com", "lmstudio.ai"]) {
    const { searchParams } = linkTo(page, host);
    expect(searchParams.get("name")).toBe("camel");
    const config = Buffer.from(searchParams.get("config") ?? "", "base64").toString();
    expect(JSON.parse(config)).toEqual(ENTRY);
  }
  const inner = linkTo(page, "insiders.vscode.dev").searchParams.get("url") ?? "";
  const [scheme, query = ""] = inner.split("?");
  expect(scheme).toBe("vscode:mcp/install");
  expect(JSON.parse(decodeURIComponent(query))).toEqual({ name: "camel", ...ENTRY });
});

test("the plain block is the entry", async () => {
  const page = await readFile(PAGE, "utf8");
  const block = /```json\n([^]*?)```/.exec(page)?.[1] ?? "";
  expect(JSON.parse(block)).toEqual({ mcpServers: { camel: ENTRY } });
});

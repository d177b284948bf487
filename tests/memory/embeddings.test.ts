import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readdir, readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createEmbed } from "../../src/tools/memory/embeddings/endpoint.ts";
import { SemanticIndex } from "../../src/tools/memory/embeddings/semantic-index.ts";
import { MemoryIndex } from "../../src/tools/memory/search/memory-index.ts";
import { searchMemory, type SearchAnswer } from "../../src/tools/memory/search/search.ts";
import { call, sandbox, startCamel } from "../harness.ts";
import { createPlace, type Place } from "./helpers.ts";

/** Two meanings, told apart by words that the lexical ranking can't connect. */
const MEANINGS = [/automobile|vehicle|sedan/i, /physician|surgeon|clinic/i];

interface Endpoint {
  baseUrl: string;
  requests: { authorization: string | undefined; input: string[] }[];
  fail: boolean;
}

async function startEndpoint(): Promise<Endpoint> {
  const endpoint: Endpoint = { baseUrl: "", requests: [], fail: false };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const part of request) body += String(part);
    const { input } = JSON.parse(body) as { input: string[] };
    endpoint.requests.push({ authorization: request.headers.authorization, input });
    if (endpoint.fail) {
      response.writeHead(500).end();
      return;
    }
    const data = input.map((text, index) => ({
      index,
      embedding: [...MEANINGS.map((meaning) => (meaning.test(text) ? 1 : 0)), 0.2, 0.1],
    }));
    // Out of order: only the index says which text a vector belongs to.
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ data: data.reverse() }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  endpoint.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  return endpoint;
}

function semanticFor(endpoint: Endpoint, home: string): SemanticIndex {
  const settings = { baseUrl: endpoint.baseUrl, model: "tiny", timeoutSeconds: 5 };
  return new SemanticIndex(settings, createEmbed(settings, "key"), home);
}

async function filled(): Promise<Place> {
  const place = await createPlace();
  onTestFinished(() => place.remove());
  await place.write("memory/a.md", "The old sedan stands in the garage since May.\n");
  await place.write("memory/b.md", "The surgeon was kind and explained everything.\n");
  await place.write("memory/c.md", "We planted beans and peas.\n");
  return place;
}

test("finds by meaning what no word connects, and asks for each text once", async () => {
  const endpoint = await startEndpoint();
  const place = await filled();
  const index = new MemoryIndex(place.root, place.home);
  onTestFinished(() => index.close());
  const ask = async (semantic: SemanticIndex, query: string): Promise<SearchAnswer> =>
    searchMemory([{ index, prefix: "" }], { query, maxResults: 6, semantic });
  const semantic = semanticFor(endpoint, place.home);

  const early = await ask(semantic, "which vehicle");
  expect(early.semanticNote).toMatch(/not embedded yet|^$/);
  await semantic.settled();
  const { hits, semanticNote } = await ask(semantic, "which vehicle");
  expect(semanticNote).toBe("");
  expect(hits[0]?.file).toBe("memory/a.md");
  expect(
    (await ask(semantic, "physician beans")).hits
      .map(({ file }) => file)
      .slice(0, 2)
      .sort(),
  ).toEqual(["memory/b.md", "memory/c.md"]);
  expect(endpoint.requests[0]?.authorization).toBe("Bearer key");
  const texts = endpoint.requests.flatMap(({ input }) => input);
  expect(new Set(texts).size).toBe(texts.length);

  // Another process finds the vectors on disk; only its query is new to the endpoint.
  const before = endpoint.requests.length;
  const other = semanticFor(endpoint, place.home);
  await ask(other, "which vehicle");
  await other.settled();
  expect((await ask(other, "which vehicle")).hits[0]?.file).toBe("memory/a.md");
  expect(endpoint.requests.slice(before).flatMap(({ input }) => input)).toEqual(["which vehicle"]);

  // A damaged batch is asked for again.
  const folder = join(place.home, "index", "embeddings");
  const [model = ""] = await readdir(folder);
  for (const name of await readdir(join(folder, model))) {
    const bytes = await readFile(join(folder, model, name));
    bytes[20] = (bytes[20] ?? 0) ^ 0xff;
    await writeFile(join(folder, model, name), bytes);
  }
  const third = semanticFor(endpoint, place.home);
  await ask(third, "which vehicle");
  await third.settled();
  expect((await ask(third, "which vehicle")).hits[0]?.file).toBe("memory/a.md");
});

test("without the endpoint the answer is the lexical one and says so", async () => {
  const endpoint = await startEndpoint();
  endpoint.fail = true;
  const place = await filled();
  const index = new MemoryIndex(place.root, place.home);
  onTestFinished(() => index.close());
  const semantic = semanticFor(endpoint, place.home);
  const { hits, semanticNote } = await searchMemory([{ index, prefix: "" }], {
    query: "beans",
    maxResults: 6,
    semantic,
  });
  expect(hits.map(({ file }) => file)).toEqual(["memory/c.md"]);
  expect(semanticNote).toBe("The embeddings endpoint doesn't answer: ranked by words only.");
  await semantic.settled();
  // It is left alone for a while: the next search doesn't wait for it again.
  const before = endpoint.requests.length;
  await searchMemory([{ index, prefix: "" }], { query: "peas", maxResults: 6, semantic });
  expect(endpoint.requests.length).toBe(before);
});

test("the config names the endpoint and the key's variable; forbidden files are not sent", async () => {
  const endpoint = await startEndpoint();
  const box = await sandbox({
    "workspace/memory/a.md": "The old sedan stands in the garage.\n",
    "workspace/memory/private/b.md": "The sedan key hides under the third stone.\n",
    "home/config.yaml": [
      "autonomy: { forbiddenPaths: ['memory/private'] }",
      `memory: { embeddings: { baseUrl: "${endpoint.baseUrl}", model: tiny, apiKey: MY_KEY } }`,
    ].join("\n"),
  });
  const camel = await startCamel(box, { env: { MY_KEY: "from-env" } });
  await call(camel, "memory_search", { query: "which vehicle" });
  await vi.waitFor(async () => {
    const [model = ""] = await readdir(join(box.home, "index", "embeddings"));
    expect(await readdir(join(box.home, "index", "embeddings", model))).toEqual([
      expect.stringMatching(/\.vec$/),
    ]);
  });
  const { text } = await call(camel, "memory_search", { query: "which vehicle sedan" });
  expect(text).toContain("memory/a.md:1-1");
  expect(text).not.toContain("stone");
  expect(endpoint.requests[0]?.authorization).toBe("Bearer from-env");
  expect(endpoint.requests.flatMap(({ input }) => input).join("\n")).not.toContain("stone");
});

import { join } from "node:path";
import { z } from "zod";
import { counted } from "../../shared/counted.ts";
import { CamelError } from "../../shared/errors.ts";
import { defineTool, type ToolDef } from "../tool.ts";
import type { ToolContext } from "../context.ts";
import type { EmbeddingSettings } from "./embeddings/endpoint.ts";
import type { SemanticIndex } from "./embeddings/semantic-index.ts";
import type { Skipped } from "./search/discover.ts";
import type { MemoryIndex } from "./search/memory-index.ts";
import type { SearchAnswer, SearchHit } from "./search/search.ts";

const DEFAULT_RESULTS = 6;
const MOST_RESULTS = 50;
const LONGEST_QUERY = 2_000;
/** Roots kept in memory: a shared server has one for each agent. */
const MOST_INDEXES = 32;
/** Cline shows a model no more than 8,000 characters of an answer. */
const MOST_CHARACTERS = 7_600;

const schema = z.object({
  query: z
    .string()
    .describe(
      'Words or a question. "quoted words" must appear as written; -word leaves out lines with that word.',
    ),
  maxResults: z
    .number()
    .int()
    .nullable()
    .optional()
    .describe("How many passages to return, 1 to 50. Default 6."),
  file: z
    .string()
    .nullable()
    .optional()
    .describe('Only files that match this glob, for example "memory/projects/**" or "2026-03-*.md".'),
  path: z.string().nullable().optional().describe("The same as file."),
  since: z.string().nullable().optional().describe("Only files of this day or later, YYYY-MM-DD."),
  until: z.string().nullable().optional().describe("Only files of this day or earlier, YYYY-MM-DD."),
});

const output = z.object({
  results: z.array(
    z.object({
      file: z.string(),
      startLine: z.number(),
      endLine: z.number(),
      score: z.number(),
      heading: z.string(),
      snippet: z.string(),
    }),
  ),
  files: z.number(),
  note: z.string(),
});

/** Indexes live as long as the tool: one a root, built at its first search. */
export function createMemorySearchTool(): ToolDef {
  const indexes = new Map<string, MemoryIndex>();
  const semantics = new Map<string, SemanticIndex>();
  const semanticOf = async (settings: EmbeddingSettings, context: ToolContext): Promise<SemanticIndex> => {
    const [{ createEmbed }, { SemanticIndex }] = await Promise.all([
      import("./embeddings/endpoint.ts"),
      import("./embeddings/semantic-index.ts"),
    ]);
    const { home } = context;
    const key = JSON.stringify([home, settings]);
    const { apiKey } = settings;
    const made =
      semantics.get(key) ??
      new SemanticIndex(
        settings,
        createEmbed(settings, apiKey === undefined ? undefined : (context.env(apiKey) ?? apiKey)),
        home,
      );
    semantics.set(key, made);
    return made;
  };
  return defineTool({
    name: "memory_search",
    title: "Search memory",
    description:
      "Searches MEMORY.md and memory/**/*.md for past decisions, facts, preferences and notes. Returns the best passages with file and line range; read more with memory_get.",
    tier: "core",
    schema,
    output,
    effect: "read",
    idempotent: true,
    async execute(input, context) {
      if (input.query.trim() === "") {
        throw new CamelError("invalid_input", "The query is empty.", {
          next: "Say what to look for, in a few words.",
        });
      }
      if (input.query.length > LONGEST_QUERY) {
        throw new CamelError("invalid_input", `The query has ${input.query.length} characters.`, {
          next: `Say what to look for in at most ${LONGEST_QUERY}.`,
        });
      }
      const maxResults = input.maxResults ?? DEFAULT_RESULTS;
      if (maxResults < 1 || maxResults > MOST_RESULTS) {
        throw new CamelError("invalid_input", `maxResults is ${maxResults}.`, {
          next: `Use a whole number from 1 to ${MOST_RESULTS}.`,
        });
      }
      const { ranking, embeddings } = context.settings().memory;
      const sinceDay = dayOf("since", input.since);
      const untilDay = dayOf("until", input.until);
      if (sinceDay !== undefined && untilDay !== undefined && sinceDay > untilDay) {
        throw new CamelError("invalid_input", `"since" (${input.since}) is after "until" (${input.until}).`, {
          next: "Swap them: since is the first day, until the last.",
        });
      }
      // Some models send "" for a parameter they don't use.
      const file = input.file || input.path || undefined;
      // Loaded by the first search: a host that only lists tools doesn't wait for it.
      const [{ MemoryIndex }, { searchMemory }] = await Promise.all([
        import("./search/memory-index.ts"),
        import("./search/search.ts"),
      ]);
      const indexOf = (root: string): MemoryIndex => {
        const key = `${context.home}\0${root}`;
        const index = indexes.get(key) ?? new MemoryIndex(root, context.home);
        // The one used last goes to the end; the one at the front goes first.
        indexes.delete(key);
        indexes.set(key, index);
        const [oldest] = indexes;
        if (indexes.size > MOST_INDEXES && oldest !== undefined) {
          oldest[1].close();
          indexes.delete(oldest[0]);
        }
        return index;
      };
      const own = await context.memoryRoot();
      const shared = context.sharedMemory().filter(({ root }) => root !== own);
      const roots = [
        { root: own, prefix: "" },
        ...shared.map(({ name, root }) => ({ root, prefix: `shared/${name}/` })),
      ].map(({ root, prefix }) => ({
        index: indexOf(root),
        prefix,
        // A line shown is a line read: what policy keeps from memory_get isn't shown here either.
        mayShow: (path: string) => context.mayRead(join(root, path), ["memory_get"]),
      }));
      const answer = await searchMemory(
        roots,
        {
          query: input.query,
          maxResults,
          ...(file === undefined ? {} : { file }),
          ...(sinceDay === undefined ? {} : { sinceDay }),
          ...(untilDay === undefined ? {} : { untilDay }),
          ranking,
          ...(embeddings === undefined ? {} : { semantic: await semanticOf(embeddings, context) }),
        },
        {
          progress: (progress, total) => context.progress({ progress, total, message: "indexing memory" }),
          warn: (message) => context.log.warn(message),
        },
      );
      return present(answer, input.query);
    },
  });
}

function dayOf(name: string, text: string | null | undefined): number | undefined {
  if (text == null || text === "") return undefined;
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(`${text.slice(0, 10)}T00:00:00Z`) : Number.NaN;
  // 31 February parses, as 3 March.
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text.slice(0, 10)) {
    throw new CamelError("invalid_input", `"${name}" is not a date: ${text}`, {
      next: "Write it as YYYY-MM-DD.",
    });
  }
  return time / 86_400_000;
}

function present(answer: SearchAnswer, query: string): { text: string; structured: Record<string, unknown> } {
  const blocks: string[] = [];
  const results: SearchHit[] = [];
  let size = 0;
  for (const hit of answer.hits) {
    const block = `[${results.length + 1}] ${hit.file}:${hit.startLine}-${hit.endLine} (score: ${hit.score})\n${hit.snippet}`;
    if (results.length > 0 && size + block.length > MOST_CHARACTERS) break;
    size += block.length + 7;
    blocks.push(block);
    results.push(hit);
  }
  const notes: string[] = [];
  if (results.length === 0) {
    notes.push(
      answer.fileCount === 0
        ? "There are no memory files yet."
        : answer.isOnlyExclusions
          ? "The query only leaves words out. Add words to look for."
          : `Nothing found for ${JSON.stringify(query)} in ${counted(answer.fileCount, "file")}. Try fewer or other words.`,
    );
  }
  if (results.length < answer.hits.length) {
    notes.push(
      `${answer.hits.length - results.length} more left out for length; narrow the query or pass file.`,
    );
  }
  if (answer.isPhraseMissing)
    notes.push("The quoted words stand nowhere as written; these passages hold them apart.");
  if (answer.semanticNote !== "") notes.push(answer.semanticNote);
  const skipped = skippedNote(answer.skipped);
  if (skipped !== "") notes.push(skipped);
  const note = notes.join(" ");
  return {
    text: [...blocks, ...(note === "" ? [] : [note])].join("\n\n---\n\n"),
    structured: { results, files: answer.fileCount, note },
  };
}

const REASONS: Record<keyof Skipped, string> = {
  symlink: "symbolic links",
  hidden: "hidden",
  too_large: "larger than 4 MB",
  not_text: "not UTF-8 text",
  unreadable: "unreadable",
};

function skippedNote(skipped: Skipped): string {
  const parts = Object.entries(skipped)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${count} ${REASONS[reason as keyof Skipped]}`);
  return parts.length === 0 ? "" : `Not searched: ${parts.join(", ")}.`;
}

export const memorySearch = createMemorySearchTool();

import { z } from "zod";
import { CamelError } from "../shared/errors.ts";
import { sessionKey } from "./session.ts";
import { defineTool, type ToolDef } from "./tool.ts";

const STATUSES = ["not-started", "in-progress", "completed"] as const;
const MOST_ITEMS = 100;
const MOST_LISTS = 1_000;

const itemSchema = z.object({
  id: z.string().describe("Short and stable, such as 1 or tests."),
  title: z.string(),
  status: z.enum(STATUSES),
});
type Item = z.output<typeof itemSchema>;

interface List {
  version: number;
  items: readonly Item[];
}

/** A plan for one session; it lives as long as the server. */
function createManageTodoList(): ToolDef {
  const lists = new Map<string, List>();
  return defineTool({
    name: "manage_todo_list",
    title: "Plan the work",
    description:
      "Keeps this session's plan. write replaces it, update changes items by id, read returns it. Pass expectedVersion so that a newer plan isn't overwritten.",
    tier: "full",
    schema: z.object({
      action: z.enum(["write", "update", "read"]).describe("What to do."),
      items: z
        .array(
          z.object({
            id: z.string().nullable().optional().describe("Default when writing: its place in the list."),
            title: z.string().nullable().optional(),
            status: z.enum(STATUSES).nullable().optional().describe("Default when writing: not-started."),
          }),
        )
        .nullable()
        .optional()
        .describe("write: the whole plan. update: the items to change, each with its id."),
      expectedVersion: z
        .number()
        .int()
        .nullable()
        .optional()
        .describe("The version this is based on; another one is refused."),
    }),
    output: z.object({ version: z.number(), items: z.array(itemSchema) }),
    // It changes nothing of the user's, so it stays available where only reading is allowed.
    effect: "read",
    async execute({ action, items, expectedVersion }, { caller }) {
      const session = sessionKey(caller);
      const list = lists.get(session) ?? { version: 0, items: [] };
      if (action === "read") return present(list);
      if (expectedVersion != null && expectedVersion !== list.version) {
        throw new CamelError(
          "conflict",
          `The plan has version ${list.version}, not ${expectedVersion}: somebody changed it.`,
          {
            next: "Look at the plan in details, then repeat the change with its version.",
            details: { version: list.version, items: list.items },
          },
        );
      }
      const changed = action === "write" ? written(items ?? []) : updated(list.items, items ?? []);
      if (changed.length > MOST_ITEMS) {
        throw new CamelError("too_large", `A plan has at most ${MOST_ITEMS} items.`, {
          next: "Put several steps into one item.",
        });
      }
      const next = { version: list.version + 1, items: changed };
      lists.set(session, next);
      if (lists.size > MOST_LISTS) lists.delete([...lists.keys()][0] ?? "");
      return present(next);
    },
  });
}

interface Given {
  id?: string | null | undefined;
  title?: string | null | undefined;
  status?: Item["status"] | null | undefined;
}

function written(items: readonly Given[]): Item[] {
  const result = items.map(({ id, title, status }, index) => {
    if (title == null || title.trim() === "") {
      throw new CamelError("invalid_input", `Item ${index + 1} has no title.`, {
        next: "Give each item a title.",
      });
    }
    return { id: id ?? String(index + 1), title, status: status ?? "not-started" };
  });
  const twice = result.find((item, index) => result.findIndex((other) => other.id === item.id) !== index);
  if (twice !== undefined) {
    throw new CamelError("invalid_input", `The id "${twice.id}" stands twice.`, {
      next: "Give each item an id of its own.",
    });
  }
  return result;
}

function updated(list: readonly Item[], changes: readonly Given[]): Item[] {
  const unknown = changes.find(({ id }) => !list.some((item) => item.id === id));
  if (unknown !== undefined) {
    throw new CamelError("not_found", `The plan has no item "${unknown.id ?? ""}".`, {
      next: `Use one of ${list.map((item) => item.id).join(", ") || "none: write a plan first"}.`,
    });
  }
  return list.map((item) => {
    const change = changes.findLast(({ id }) => id === item.id);
    return { id: item.id, title: change?.title ?? item.title, status: change?.status ?? item.status };
  });
}

const MARKS: Record<Item["status"], string> = {
  "not-started": "[ ]",
  "in-progress": "[~]",
  completed: "[x]",
};

function present({ version, items }: List): { text: string; structured: Record<string, unknown> } {
  const lines = items.map((item) => `${MARKS[item.status]} ${item.id}: ${item.title}`);
  return {
    text: [`Version ${version}`, ...(lines.length === 0 ? ["(no plan yet)"] : lines)].join("\n"),
    structured: { version, items },
  };
}

export const manageTodoList = createManageTodoList();

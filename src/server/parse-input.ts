import { z } from "zod";
import { CamelError } from "../shared/errors.ts";
import { closest } from "../shared/glob.ts";
import type { ToolDef } from "../tools/tool.ts";

/** null is how some hosts say "not given". */
export function filledIn(defaults: Record<string, unknown>, args: unknown): unknown {
  if (typeof args !== "object" || args === null) return args ?? defaults;
  const given = Object.entries(args).filter(([, value]) => value !== null && value !== undefined);
  return { ...args, ...defaults, ...Object.fromEntries(given) };
}

/**
 * Unknown arguments are ignored, since some hosts add one of their own to every call. One that is a parameter in
 * another spelling isn't: a patch sent with `dryRun` must not be applied because the parameter is `dry_run`.
 */
export function parseInput(tool: ToolDef, args: unknown): Record<string, unknown> {
  const parsed = tool.schema.safeParse(args ?? {});
  const given = typeof args === "object" && args !== null ? Object.keys(args) : [];
  const known = Object.keys(tool.schema.shape);
  const strange = given.filter((key) => !known.includes(key));
  const isMeant = (key: string): boolean =>
    known.some((name) => !given.includes(name) && folded(name) === folded(key));
  if (parsed.success && !strange.some(isMeant)) return parsed.data;

  const issues = parsed.error?.issues ?? [];
  const problems = issues.map(({ path, message }) => {
    const [name] = path;
    const what = message.replace(/^Invalid \w+: /, "");
    if (path.length !== 1 || typeof name !== "string" || given.includes(name))
      return `${path.join(".") || "arguments"}: ${what}`;
    return `${name} is missing: ${what.replace(", received undefined", "")}`;
  });
  const guesses = strange.map((key) => {
    const guess = closest(key, known);
    return guess === undefined ? `"${key}" is unknown` : `"${key}" is unknown (did you mean "${guess}"?)`;
  });
  throw new CamelError("invalid_input", `${tool.name}: ${[...problems, ...guesses].join("; ")}.`, {
    next: `Parameters: ${describeParameters(tool.schema)}. Correct the call and repeat it.`,
    details: {
      issues: issues.map((issue) => ({ path: issue.path.map(String), message: issue.message })),
    },
  });
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

function describeParameters(schema: z.ZodObject): string {
  const names = (isOptional: boolean): string =>
    Object.entries(schema.shape)
      .filter(([, type]) => z.safeParse(type, undefined).success === isOptional)
      .map(([name]) => name)
      .join(", ");
  return [names(false), names(true) && `optional: ${names(true)}`].filter(Boolean).join("; ");
}

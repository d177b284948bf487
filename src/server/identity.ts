import { isObject } from "../shared/is-object.ts";

const INSTRUCTIONS =
  "Files, memory, schedules and tools under one policy. If a result says denied_by_policy, don't look for a way round it: tell the user.";

/** What the server tells a client about itself. */
export function identityOf(version: string) {
  return {
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
    serverInfo: { name: "camel-mcp", title: "camel-mcp", version },
    instructions: INSTRUCTIONS,
  };
}

/** From what a client says about itself, which may be anything. */
export function clientNameOf(info: unknown): string {
  const name = isObject(info) ? info["name"] : undefined;
  return typeof name === "string" ? name.toLowerCase().slice(0, 100) : "unknown";
}

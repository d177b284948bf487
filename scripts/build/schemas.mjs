import { pathToFileURL } from "node:url";
import { bundled } from "../cache.mjs";

/**
 * Puts the JSON schemas of the built-in tools in the place of the empty module that stands for them: a start that
 * only lists the tools then makes none from zod's.
 */
export function finishedSchemas() {
  return {
    name: "finished-schemas",
    load: {
      filter: { id: /[\\/]src[\\/]server[\\/]finished-schemas\.ts$/ },
      async handler() {
        const file = await bundled("src/server/list-tool-defs.ts", "build-schemas");
        const { listToolDefs } = await import(`${pathToFileURL(file).href}?${Date.now()}`);
        const schemas = listToolDefs().map(({ name, public: { inputSchema, outputSchema } }) => [
          name,
          { inputSchema, outputSchema },
        ]);
        const text = JSON.stringify(Object.fromEntries(schemas));
        return { code: `export const finishedSchemas = ${text};`, moduleType: "js" };
      },
    },
  };
}

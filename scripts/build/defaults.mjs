import { isDeepStrictEqual } from "node:util";
import { bundled } from "../cache.mjs";
import { pathToFileURL } from "node:url";

const MODULE = "src/config/defaults.ts";

/** Puts the value of the default config in its module's place, so that the schema loads only with a config file. */
export function finishedDefaults() {
  return {
    name: "finished-defaults",
    load: {
      filter: { id: /[\\/]src[\\/]config[\\/]defaults\.ts$/ },
      async handler() {
        const file = await bundled(MODULE, "build-defaults");
        const { defaultConfig } = await import(`${pathToFileURL(file).href}?${Date.now()}`);
        const text = JSON.stringify(defaultConfig);
        if (!isDeepStrictEqual(JSON.parse(text), defaultConfig))
          this.error(`the default config holds something that JSON can't; see ${MODULE}`);
        return { code: `export const defaultConfig = ${text};`, moduleType: "js" };
      },
    },
  };
}

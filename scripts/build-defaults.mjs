import { isDeepStrictEqual } from "node:util";
import { bundled } from "./cache.mjs";
import { pathToFileURL } from "node:url";

const MODULE = "src/config-defaults.ts";

/** Puts the value of the default config in its module's place, so that the schema loads only with a config file. */
export function finishedDefaults() {
  return {
    name: "finished-defaults",
    load: {
      filter: { id: /[\\/]src[\\/]config-defaults\.ts$/ },
      async handler() {
        const file = await bundled(MODULE, "build-defaults");
        const { defaultConfig } = await import(`${pathToFileURL(file).href}?${Date.now()}`);
        const text = JSON.stringify(defaultConfig);
        if (!isDeepStrictEqual(JSON.parse(text), defaultConfig))
          this.error(`the default config holds something that JSON can't; see ${MODULE}`);
        return { code: `export const defaultConfig = ${text};`, moduleType: "js" };
      },
    },
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.isEntry && chunk.moduleIds.some((id) => /[\\/]src[\\/]config\.ts$/.test(id)))
          this.error("the start-up file contains the config schema; import it lazily");
      }
    },
  };
}

/**
 * The SDK's JSON Schema validator is Ajv, 300 KB. `@modelcontextprotocol/server` and `/client` import it statically
 * through their `_shims` entry and construct it in each Server's and Client's constructor, although it is needed
 * only when a schema that isn't zod's is checked: an elicitation's answer, a remote tool's output. Evaluating it
 * would cost every start. The plugin replaces the two shims by ones whose validator loads Ajv at the first schema.
 *
 * `getValidator` is synchronous, so a dynamic import can't serve; a CommonJS file and `require` can.
 */

/** Where the validator's own bundle lies inside dist/. */
export const VALIDATOR_CHUNK = "chunks/json-schema-validator.cjs";

/** Server and client carry the same provider, file for file; one copy serves both. */
export const VALIDATOR_SOURCE = "@modelcontextprotocol/server/validators/ajv";

const SHIM = /^@modelcontextprotocol\/(?:server|client)\/_shims$/;
const VIRTUAL = "\0lazy-json-schema-validator";

const shimCode = (file) => `
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
export { default as process } from "node:process";

// The client's question whether a failed fetch may be a CORS error; outside browsers it can't be.
export const CORS_IS_POSSIBLE = false;

export class DefaultJsonSchemaValidator {
  getValidator(schema) {
    this.ajv ??= new (createRequire(import.meta.url)(fileURLToPath(${file})).AjvJsonSchemaValidator)();
    return this.ajv.getValidator(schema);
  }
}
`;

/** `source` is the validator's own bundle; it is written once, beside the chunks that refer to it. */
export function lazyValidator(source) {
  return {
    name: "lazy-json-schema-validator",
    resolveId(id) {
      return SHIM.test(id) ? VIRTUAL : null;
    },
    load(id) {
      if (id !== VIRTUAL) return null;
      const reference = this.emitFile({ type: "asset", fileName: VALIDATOR_CHUNK, source });
      return shimCode(`import.meta.ROLLUP_FILE_URL_${reference}`);
    },
    generateBundle(_options, bundle) {
      // A release of the SDK that picks its validator another way would bring the 300 KB back unnoticed.
      for (const chunk of Object.values(bundle)) {
        const ajv = chunk.moduleIds?.find((id) => id.includes("ajvProvider"));
        if (ajv !== undefined)
          this.error(`${chunk.fileName} contains ${ajv}; see scripts/build/lazy-validator.mjs`);
      }
    },
  };
}

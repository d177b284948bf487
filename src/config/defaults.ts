import { configSchema, type Config } from "./schema.ts";

/**
 * What is in force without a config file. A module of its own, because the build puts the finished value in its
 * place (scripts/build/defaults.mjs): most starts find no file and then need no schema.
 */
export const defaultConfig: Config = configSchema.parse({});

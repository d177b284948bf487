import fc from "fast-check";

/** The same examples in every run; another seed with CAMEL_SEED, to look for more. */
fc.configureGlobal({ seed: Number(process.env["CAMEL_SEED"] ?? 2026) });

import { CamelError } from "../shared/errors.ts";

export type SecretSource = (name: string) => Promise<string | undefined>;

/** `env:NAME`, `secret://NAME` or the key itself. A key that is named but not there is an error, not an anonymous call. */
export async function resolveApiKey(
  given: string | undefined,
  env: NodeJS.ProcessEnv,
  secret: SecretSource | undefined,
): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const fromEnv = /^env:(\w+)$/.exec(given)?.[1];
  const fromStore = /^secret:\/\/(.+)$/.exec(given)?.[1];
  if (fromEnv === undefined && fromStore === undefined) return given;
  const key = fromEnv === undefined ? await secret?.(fromStore ?? "") : env[fromEnv];
  if (key !== undefined && key !== "") return key;
  throw new CamelError("unavailable", `The key of the model's endpoint is not there: ${given}.`, {
    next:
      fromEnv === undefined
        ? `Store it under the name ${fromStore}, or use env:NAME.`
        : `Set the environment variable ${fromEnv} where the server is started.`,
  });
}

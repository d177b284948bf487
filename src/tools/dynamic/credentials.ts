import type { Definition } from "./definition.ts";

const CREDENTIAL_NAME = /authorization|cookie|api-?key|token|secret|password|credential/i;
const isHandle = (value: string): boolean => value.includes("secret://") || value.includes("{{");

/** Names of headers, query parameters and variables that hold a credential as plain text. */
export function plainCredentials({ strategy }: Definition): string[] {
  const named: Record<string, string> =
    strategy.type === "http"
      ? { ...strategy.headers, ...strategy.query }
      : strategy.type === "shell"
        ? strategy.env
        : {};
  return Object.entries(named)
    .filter(([name, value]) => CREDENTIAL_NAME.test(name) && !isHandle(value))
    .map(([name]) => name);
}

/** The definition as it may be shown and passed on: a credential in it is replaced by a secret's name. */
export function withoutCredentials(definition: Definition): Definition {
  const names = plainCredentials(definition);
  if (names.length === 0) return definition;
  const hide = (fields: Record<string, string>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        names.includes(name)
          ? `secret://${definition.name}_${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")}`
          : value,
      ]),
    );
  const { strategy } = definition;
  if (strategy.type === "http")
    return {
      ...definition,
      strategy: { ...strategy, headers: hide(strategy.headers), query: hide(strategy.query) },
    };
  if (strategy.type === "shell") return { ...definition, strategy: { ...strategy, env: hide(strategy.env) } };
  return definition;
}

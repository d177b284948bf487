import { CamelError } from "../shared/errors.ts";
import type { Clock } from "../shared/clock.ts";
import { ownCommand } from "../shared/own-command.ts";
import type { KeyringOptions } from "./keyring.ts";
import { createSealedFolder } from "./sealed-folder.ts";

export const SECRETS_FOLDER = "secrets";
const SECRET_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Values that tools use by name (`secret://name`). Nothing lists or exports a value; only a call gets it. */
export interface SecretStore {
  set(name: string, value: string): Promise<void>;
  get(name: string): Promise<string>;
  names(): Promise<string[]>;
  /** False where there is none of that name. */
  remove(name: string): Promise<boolean>;
}

export function createSecrets(options: KeyringOptions & { clock: Clock }): SecretStore {
  const store = createSealedFolder<{ value: string }>({ ...options, folder: SECRETS_FOLDER, kind: "secret" });
  const checked = (name: string): string => {
    if (SECRET_NAME.test(name)) return name;
    throw new CamelError("invalid_input", `"${name}" is not a secret's name.`, {
      next: "Use letters, digits, dot, dash and underscore; at most 64.",
    });
  };
  return {
    async set(name, value) {
      await store.change(checked(name), () => ({ value }));
    },
    async get(name) {
      const found = await store.read(checked(name));
      if (found !== undefined) return found.value;
      throw new CamelError("not_found", `There is no secret "${name}".`, {
        next: `Ask the user to run: ${ownCommand(`secret set ${name}`, options.home)}`,
      });
    },
    names: async () => [...(await store.load()).items.keys()],
    async remove(name) {
      let existed = false;
      await store.change(checked(name), (current) => {
        existed = current !== undefined;
        return undefined;
      });
      return existed;
    },
  };
}

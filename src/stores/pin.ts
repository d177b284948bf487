import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { z } from "zod";
import { replaceFile } from "../shared/durable.ts";
import { CamelError } from "../shared/errors.ts";

const schema = z.object({ salt: z.string(), hash: z.string() });

/** The PIN a person types to approve; only a slow hash of it is kept. */
export interface Pin {
  isSet(): Promise<boolean>;
  matches(typed: string): Promise<boolean>;
  set(pin: string | undefined): Promise<void>;
}

export function createPin(path: string): Pin {
  const load = async (): Promise<z.output<typeof schema> | undefined> => {
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      return schema.parse(JSON.parse(text));
    } catch (cause) {
      // Damaged must not mean "no PIN".
      throw new CamelError("invalid_config", `${path} is damaged.`, {
        cause,
        next: "Remove the file and set the PIN again with `camel-mcp approvals pin`.",
      });
    }
  };
  return {
    isSet: async () => (await load()) !== undefined,
    async matches(typed) {
      const kept = await load();
      if (kept === undefined) return false;
      const hash = await slowHash(typed, Buffer.from(kept.salt, "hex"));
      return timingSafeEqual(hash, Buffer.from(kept.hash, "hex"));
    },
    async set(pin) {
      if (pin === undefined) return rm(path, { force: true });
      const salt = randomBytes(16);
      const hash = await slowHash(pin, salt);
      return replaceFile(path, JSON.stringify({ salt: salt.toString("hex"), hash: hash.toString("hex") }));
    },
  };
}

function slowHash(text: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(text.normalize("NFC"), salt, 32, { N: 2 ** 15, maxmem: 2 ** 26 }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

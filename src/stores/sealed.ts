import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { CamelError } from "../shared/errors.ts";
import type { Key } from "./keyring.ts";

/**
 * A sealed file: one header line, then AES-256-GCM ciphertext, then the 16-byte tag. The header is authenticated,
 * so a file can't be renamed, moved to another kind or have its key id changed. There is no plaintext form.
 *
 *   camel-sealed 1 KIND NAME KEYID NONCE\n
 */
const MAGIC = "camel-sealed 1";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER = /^camel-sealed 1 ([a-z]+) ([\w.-]{1,80}) ([0-9a-f]{16}) ([\w-]{16})$/;

export interface SealedName {
  kind: string;
  name: string;
}

export function seal({ kind, name }: SealedName, plain: Uint8Array, key: Key): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const header = Buffer.from(`${MAGIC} ${kind} ${name} ${key.id} ${nonce.toString("base64url")}\n`);
  const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce);
  cipher.setAAD(header);
  return Buffer.concat([header, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

export type Opened = { plain: Buffer } | { refused: "unknown_key" | "damaged"; why: string };

export function unseal(expected: SealedName, sealed: Buffer, keyOf: (id: string) => Key | undefined): Opened {
  const end = sealed.subarray(0, 200).indexOf(10);
  const match = end < 0 ? null : HEADER.exec(sealed.toString("latin1", 0, end));
  if (match === null && /^camel-sealed (?!1 )\d/.test(sealed.toString("latin1", 0, 20)))
    return { refused: "unknown_key", why: "a newer version of this program made it" };
  if (match === null || sealed.length < end + 1 + TAG_BYTES)
    return { refused: "damaged", why: "it isn't a sealed file, or it was cut off" };
  const [, kind, name, keyId = "", nonce = ""] = match;
  if (kind !== expected.kind || name !== expected.name)
    return { refused: "damaged", why: `it was sealed as ${kind} "${name}", not as this one` };
  const key = keyOf(keyId);
  if (key === undefined) return { refused: "unknown_key", why: `it was sealed with another key (${keyId})` };
  const decipher = createDecipheriv("aes-256-gcm", key.bytes, Buffer.from(nonce, "base64url"));
  decipher.setAAD(sealed.subarray(0, end + 1));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    const body = decipher.update(sealed.subarray(end + 1, sealed.length - TAG_BYTES));
    return { plain: Buffer.concat([body, decipher.final()]) };
  } catch {
    return { refused: "damaged", why: "its content was changed after it was sealed" };
  }
}

/** The key a sealed file names, without opening it. */
export function keyIdOf(sealed: Buffer): string | undefined {
  return HEADER.exec(sealed.toString("latin1", 0, Math.max(0, sealed.subarray(0, 200).indexOf(10))))?.[3];
}

export function unknownKeyError(what: string): CamelError {
  return new CamelError("damaged", `${what} was sealed with a key that isn't available here.`, {
    next: "Start the server with the same CAMEL_MCP_KEY, passphrase, keychain or key file as when it was made.",
  });
}

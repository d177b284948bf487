import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { replaceFile } from "../../../shared/durable.ts";

const HASH_BYTES = 16;
const HEAD_BYTES = 8;

/** Names a text: the same text, in whatever file, is embedded once. */
export function textHash(text: string): string {
  return createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, HASH_BYTES * 2);
}

/**
 * Vectors by the hash of their text, on disk. One file a batch, written whole and never changed, named by its content:
 * processes share the folder without waiting, and a damaged file costs its own batch only.
 */
export class VectorCache {
  readonly #folder: string;
  readonly #vectors = new Map<string, Int8Array>();
  #loaded: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get(hash: string): Int8Array | undefined {
    return this.#vectors.get(hash);
  }

  load(): Promise<void> {
    this.#loaded ??= this.#load();
    return this.#loaded;
  }

  /** In memory at once; a full disk only means that the next process asks the endpoint again. */
  async add(batch: ReadonlyMap<string, Int8Array>): Promise<void> {
    for (const [hash, vector] of batch) this.#vectors.set(hash, vector);
    const bytes = encode(batch);
    const name = createHash("sha256").update(bytes).digest("hex").slice(0, 24);
    await replaceFile(join(this.#folder, `${name}.vec`), bytes);
  }

  async #load(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names.filter((one) => one.endsWith(".vec"))) {
      const bytes = await readFile(join(this.#folder, name)).catch(() => undefined);
      if (bytes === undefined) continue;
      for (const [hash, vector] of decode(bytes)) this.#vectors.set(hash, vector);
    }
  }
}

/** Checksum of the rest, dimensions; then hash and vector, again and again. */
function encode(batch: ReadonlyMap<string, Int8Array>): Buffer {
  const dimensions = [...batch.values()][0]?.length ?? 0;
  const rows = [...batch].map(([hash, vector]) =>
    Buffer.concat([Buffer.from(hash, "hex"), Uint8Array.from(vector)]),
  );
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(dimensions, 4);
  const whole = Buffer.concat([head, ...rows]);
  whole.writeUInt32LE(crc32(whole.subarray(4)), 0);
  return whole;
}

function* decode(bytes: Buffer): Generator<[string, Int8Array]> {
  if (bytes.length < HEAD_BYTES || crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) return;
  const width = HASH_BYTES + bytes.readUInt32LE(4);
  for (let at = HEAD_BYTES; at + width <= bytes.length; at += width) {
    const vector = Int8Array.from(
      bytes.subarray(at + HASH_BYTES, at + width),
      (value) => (value << 24) >> 24,
    );
    yield [bytes.toString("hex", at, at + HASH_BYTES), vector];
  }
}

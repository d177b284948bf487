import { open, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { replaceFile } from "../../../shared/durable.ts";
import { HashTable } from "./hash-table.ts";
import type { Segment, SegmentFile } from "./segment.ts";

const MAGIC = 0x4c454d43;
/** Raise with any change to how words, units or postings are made: an older index is then rebuilt. */
const VERSION = 7;
const HEAD_BYTES = 20;
/** A temporary file this old has no living writer. */
const ABANDONED_MS = 600_000;

type Saved = [string, "u8" | "u32", number];

interface Header {
  files: SegmentFile[];
  tokenCount: number;
  termCount: number;
  groupCount: number;
  arrays: Saved[];
}

function arraysOf(segment: Segment): Record<string, Uint8Array | Uint32Array> {
  return {
    fileUnits: segment.fileUnits,
    unitStart: segment.unitStart,
    unitEnd: segment.unitEnd,
    termOffset: segment.termOffset,
    termUnits: segment.termUnits,
    termNext: segment.termNext,
    terms: segment.terms.slots,
    groups: segment.groups.slots,
    unitKind: segment.unitKind,
    unitFlags: segment.unitFlags,
    unitLength: segment.unitLength,
    postings: segment.postings,
  };
}

/**
 * magic, version, length of all that follows, length of the header, checksum; then the header as JSON and the arrays,
 * each padded to 4 bytes. In shared memory, so that a worker hands it over without a copy.
 */
export function encodeSegment(segment: Segment): Uint8Array {
  const arrays = arraysOf(segment);
  const header: Header = {
    files: segment.files,
    tokenCount: segment.tokenCount,
    termCount: segment.terms.size,
    groupCount: segment.groups.size,
    arrays: Object.entries(arrays).map(([name, data]) => [
      name,
      data instanceof Uint32Array ? "u32" : "u8",
      data.length,
    ]),
  };
  const json = Buffer.from(JSON.stringify(header));
  const parts = [
    json,
    ...Object.values(arrays).map((data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  ];
  const length = parts.reduce((sum, part) => sum + padded(part.length), 0);
  const whole = Buffer.from(new SharedArrayBuffer(HEAD_BYTES + length));
  let at = HEAD_BYTES;
  for (const part of parts) {
    whole.set(part, at);
    at += padded(part.length);
  }
  whole.writeUInt32LE(MAGIC, 0);
  whole.writeUInt32LE(VERSION, 4);
  whole.writeUInt32LE(length, 8);
  whole.writeUInt32LE(json.length, 12);
  whole.writeUInt32LE(crc32(whole.subarray(HEAD_BYTES), json.length), 16);
  return whole;
}

/** Undefined for anything but a whole, current index: the caller then builds a new one. */
export function decodeSegment(whole: Uint8Array, options: { trusted?: boolean } = {}): Segment | undefined {
  const bytes = Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength);
  const length = lengthAt(bytes, 0);
  if (length !== bytes.length) return undefined;
  const jsonLength = bytes.readUInt32LE(12);
  const body = bytes.subarray(HEAD_BYTES);
  if (jsonLength > body.length) return undefined;
  if (options.trusted !== true && crc32(body, jsonLength) !== bytes.readUInt32LE(16)) return undefined;
  const header = JSON.parse(body.toString("utf8", 0, jsonLength)) as Header;
  const u8 = new Map<string, Uint8Array>();
  const u32 = new Map<string, Uint32Array>();
  let at = padded(jsonLength);
  for (const [name, kind, length] of header.arrays) {
    const size = kind === "u32" ? length * 4 : length;
    if (at + size > body.length) return undefined;
    if (kind === "u8") u8.set(name, new Uint8Array(body.buffer, body.byteOffset + at, length));
    else if ((body.byteOffset + at) % 4 === 0)
      u32.set(name, new Uint32Array(body.buffer, body.byteOffset + at, length));
    else u32.set(name, new Uint32Array(Uint8Array.from(body.subarray(at, at + size)).buffer));
    at += padded(size);
  }
  const words = (name: string): Uint32Array => u32.get(name) ?? new Uint32Array(0);
  const octets = (name: string): Uint8Array => u8.get(name) ?? new Uint8Array(0);
  const table = (name: string, size: number): HashTable => {
    const made = new HashTable(0);
    made.size = size;
    made.slots = words(name);
    return made;
  };
  return {
    files: header.files,
    tokenCount: header.tokenCount,
    fileUnits: words("fileUnits"),
    unitStart: words("unitStart"),
    unitEnd: words("unitEnd"),
    unitKind: octets("unitKind"),
    unitFlags: octets("unitFlags"),
    unitLength: octets("unitLength"),
    terms: table("terms", header.termCount),
    groups: table("groups", header.groupCount),
    termOffset: words("termOffset"),
    termUnits: words("termUnits"),
    termNext: words("termNext"),
    postings: octets("postings"),
  };
}

/** Bytes of the segment that begins at `at`, its head included; undefined where none does. */
function lengthAt(bytes: Buffer, at: number): number | undefined {
  if (bytes.length - at < HEAD_BYTES) return undefined;
  if (bytes.readUInt32LE(at) !== MAGIC || bytes.readUInt32LE(at + 4) !== VERSION) return undefined;
  const length = HEAD_BYTES + bytes.readUInt32LE(at + 8);
  return length > bytes.length - at ? undefined : length;
}

/** One segment after the other in one file, replaced as a whole. Also removes what a killed process left half written. */
export async function saveSegments(path: string, segments: readonly Uint8Array[]): Promise<void> {
  await replaceFile(path, segments);
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`.${basename(path)}.`)) continue;
    const left = await stat(join(folder, name)).catch(() => undefined);
    if (left !== undefined && Date.now() - left.mtimeMs > ABANDONED_MS)
      await rm(join(folder, name), { force: true });
  }
}

/** A missing, damaged or older index is no error: the files are the truth. */
export async function loadSegments(path: string): Promise<{ bytes: Uint8Array; segment: Segment }[]> {
  try {
    const whole = await readAtOnce(path);
    const found: { bytes: Uint8Array; segment: Segment }[] = [];
    for (let at = 0; at < whole.length;) {
      const length = lengthAt(whole, at);
      if (length === undefined) return [];
      const bytes = whole.subarray(at, at + length);
      const segment = decodeSegment(bytes);
      if (segment === undefined) return [];
      found.push({ bytes, segment });
      at += length;
    }
    return found;
  } catch {
    return [];
  }
}

/** One read for all of it: readFile takes many small ones, each of which waits for a turn of a busy event loop. */
async function readAtOnce(path: string): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.allocUnsafeSlow(size);
    let filled = 0;
    for (let read = -1; filled < size && read !== 0; filled += read)
      read = (await handle.read(bytes, filled, size - filled, filled)).bytesRead;
    return bytes.subarray(0, filled);
  } finally {
    await handle.close();
  }
}

function padded(length: number): number {
  return Math.ceil(length / 4) * 4;
}

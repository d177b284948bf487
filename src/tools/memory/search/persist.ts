import { readFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { replaceFile } from "../../../shared/durable.ts";
import { HashTable } from "./hash-table.ts";
import type { Segment, SegmentFile } from "./segment.ts";

const MAGIC = 0x4c454d43;
/** Raise with any change to how words, units or postings are made: an older index is then rebuilt. */
const VERSION = 1;
const HEAD_BYTES = 16;

type Saved = [name: string, type: "u8" | "u32", length: number];

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
    unitLine: segment.unitLine,
    unitHeading: segment.unitHeading,
    termOffset: segment.termOffset,
    termUnits: segment.termUnits,
    termNext: segment.termNext,
    termLow: segment.terms.low,
    termHigh: segment.terms.high,
    termValue: segment.terms.values,
    groupLow: segment.groups.low,
    groupHigh: segment.groups.high,
    groupValue: segment.groups.values,
    unitKind: segment.unitKind,
    unitLength: segment.unitLength,
    postings: segment.postings,
  };
}

/** magic, version, header length, checksum of all that follows; then the header as JSON and the arrays, aligned to 4. */
export function encodeSegment(segment: Segment): Buffer {
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
  const parts: Uint8Array[] = [json, new Uint8Array(padding(json.length))];
  for (const data of Object.values(arrays)) {
    parts.push(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      new Uint8Array(padding(data.byteLength)),
    );
  }
  const head = Buffer.alloc(HEAD_BYTES);
  const body = Buffer.concat(parts);
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt32LE(VERSION, 4);
  head.writeUInt32LE(json.length, 8);
  head.writeUInt32LE(crc32(body, json.length), 12);
  return Buffer.concat([head, body]);
}

/** Undefined for anything but a whole, current index: the caller then builds a new one. */
export function decodeSegment(bytes: Buffer): Segment | undefined {
  if (bytes.length < HEAD_BYTES || bytes.readUInt32LE(0) !== MAGIC || bytes.readUInt32LE(4) !== VERSION)
    return undefined;
  const jsonLength = bytes.readUInt32LE(8);
  const body = bytes.subarray(HEAD_BYTES);
  if (jsonLength > body.length || crc32(body, jsonLength) !== bytes.readUInt32LE(12)) return undefined;
  const header = JSON.parse(body.toString("utf8", 0, jsonLength)) as Header;
  const u8 = new Map<string, Uint8Array>();
  const u32 = new Map<string, Uint32Array>();
  let at = jsonLength + padding(jsonLength);
  for (const [name, kind, length] of header.arrays) {
    const size = kind === "u32" ? length * 4 : length;
    if (at + size > body.length) return undefined;
    if (kind === "u8") u8.set(name, new Uint8Array(body.buffer, body.byteOffset + at, length));
    else if ((body.byteOffset + at) % 4 === 0)
      u32.set(name, new Uint32Array(body.buffer, body.byteOffset + at, length));
    else u32.set(name, new Uint32Array(Uint8Array.from(body.subarray(at, at + size)).buffer));
    at += size + padding(size);
  }
  const words = (name: string): Uint32Array => u32.get(name) ?? new Uint32Array(0);
  const octets = (name: string): Uint8Array => u8.get(name) ?? new Uint8Array(0);
  const table = (name: string, size: number): HashTable => {
    const made = new HashTable(0);
    made.size = size;
    made.low = words(`${name}Low`);
    made.high = words(`${name}High`);
    made.values = words(`${name}Value`);
    return made;
  };
  return {
    files: header.files,
    tokenCount: header.tokenCount,
    fileUnits: words("fileUnits"),
    unitStart: words("unitStart"),
    unitEnd: words("unitEnd"),
    unitLine: words("unitLine"),
    unitHeading: words("unitHeading"),
    unitKind: octets("unitKind"),
    unitLength: octets("unitLength"),
    terms: table("term", header.termCount),
    groups: table("group", header.groupCount),
    termOffset: words("termOffset"),
    termUnits: words("termUnits"),
    termNext: words("termNext"),
    postings: octets("postings"),
  };
}

export async function saveSegment(path: string, segment: Segment): Promise<void> {
  await replaceFile(path, encodeSegment(segment));
}

/** A missing, damaged or older index is no error: the files are the truth. */
export async function loadSegment(path: string): Promise<Segment | undefined> {
  try {
    return decodeSegment(await readFile(path));
  } catch {
    return undefined;
  }
}

function padding(length: number): number {
  return (4 - (length % 4)) % 4;
}

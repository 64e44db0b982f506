/**
 * Compares the content of two dumps. Their bytes may differ: one value has many
 * encodings, and sets and hashes have no order. So both are decoded and sorted;
 * fields that may legitimately differ between servers are left out.
 */
import { createHash, type Hash } from "node:crypto";
import { type Bytes, bufferFrom } from "../../kernel/bytes.ts";
import {
  type Dumped,
  type DumpedHash,
  type DumpedStream,
  formatId,
  readPayload,
} from "../../store/structures/rdb/mod.ts";

/** Fields that have expired at `nowMs` count as absent. Throws a `CommandError` for an invalid dump. */
export function haveSameContent(first: Buffer, second: Buffer, nowMs: number): boolean {
  if (first.equals(second)) return true;
  const [a, b] = [readPayload(first), readPayload(second)];
  // Streams from before Redis 7 do not say how much their groups have read; a server estimates it.
  const withReadCounts = !hasEstimates(a) && !hasEstimates(b);
  return digestOf(a, { nowMs, withReadCounts }) === digestOf(b, { nowMs, withReadCounts });
}

/** Whether the value is a hash whose fields have all expired: no server keeps such a key. */
export function isExpiredHash(payload: Buffer, nowMs: number): boolean {
  const dumped = readPayload(payload);
  return dumped.kind === "hash" && (dumped.expiriesMs?.every((atMs) => atMs > 0 && atMs <= nowMs) ?? false);
}

function hasEstimates(dumped: Dumped): boolean {
  return dumped.kind === "stream" && dumped.groups.some(({ readCount }) => readCount === "estimate");
}

interface DigestOptions {
  readonly nowMs: number;
  readonly withReadCounts: boolean;
}

function digestOf(dumped: Dumped, options: DigestOptions): string {
  const hash = createHash("sha1");
  hash.update(dumped.kind);
  switch (dumped.kind) {
    case "string":
      hash.update(typeof dumped.bytes === "string" ? bufferFrom(dumped.bytes) : dumped.bytes);
      break;
    case "list":
      for (const element of dumped.elements) add(hash, element);
      break;
    case "set":
      for (const member of [...dumped.members].sort()) add(hash, member);
      break;
    case "sorted set": {
      const { members, scores } = dumped;
      addSorted(hash, members, (index) => [`${scores[index]}`]);
      break;
    }
    case "hash":
      addHash(hash, dumped, options);
      break;
    case "stream":
      addStream(hash, dumped, options);
      break;
    default: {
      const never: never = dumped;
      throw new Error(`Unknown value ${String(never)}`);
    }
  }
  return hash.digest("hex");
}

function addHash(hash: Hash, { fields, values, expiriesMs }: DumpedHash, { nowMs }: DigestOptions): void {
  const momentOf = (index: number): number => expiriesMs?.[index] ?? 0;
  const isThere = (index: number): boolean => momentOf(index) === 0 || momentOf(index) > nowMs;
  addSorted(hash, fields, (index) => (isThere(index) ? [values[index] ?? "", `${momentOf(index)}`] : undefined));
}

function addStream(hash: Hash, stream: DumpedStream, { withReadCounts }: DigestOptions): void {
  for (const entry of stream.entries) {
    add(hash, formatId(entry));
    for (const [index, name] of entry.names.entries()) addAll(hash, [name, entry.values[index] ?? ""]);
  }
  addAll(hash, [formatId(stream.lastId), formatId(stream.maxDeletedId), `${stream.addedCount}`]);
  const groups = stream.groups;
  addSorted(
    hash,
    groups.map(({ name }) => name),
    (index) => {
      const { lastId, readCount, consumers } = groups[index] as (typeof groups)[number];
      const rows = consumers.map(({ name, seenMs, pending }) => [
        name,
        `${seenMs}`,
        ...pending.map((one) => `${formatId(one)} ${one.deliveredAtMs} ${one.deliveryCount}`),
      ]);
      return [formatId(lastId), withReadCounts ? `${readCount}` : "", ...rows.map((row) => JSON.stringify(row)).sort()];
    },
  );
}

/** Names in order, each with its parts; a name without parts is left out. */
function addSorted(hash: Hash, names: readonly Bytes[], of: (index: number) => readonly Bytes[] | undefined): void {
  const order = names.map((_, index) => index).sort((a, b) => compare(names[a] ?? "", names[b] ?? ""));
  for (const index of order) {
    const parts = of(index);
    if (parts !== undefined) addAll(hash, [names[index] ?? "", ...parts]);
  }
}

function compare(a: Bytes, b: Bytes): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function addAll(hash: Hash, parts: readonly Bytes[]): void {
  for (const part of parts) add(hash, part);
}

/** The length prefix separates the parts. */
function add(hash: Hash, part: Bytes): void {
  hash.update(`${part.length}:${part}`, "latin1");
}

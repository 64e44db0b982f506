/**
 * Compares the content of two dumps. Their bytes may differ: one value has many
 * encodings, and sets and hashes have no order. So both are decoded into parts in
 * one order; fields that may legitimately differ between servers are left out.
 */
import { type Bytes, bufferFrom, bytesFrom } from "../../kernel/bytes.ts";
import {
  COMMON_TYPES_END,
  type Dumped,
  type DumpedHash,
  type DumpedStream,
  FOOTER_BYTES,
  formatId,
  readPayload,
} from "../../store/structures/rdb/mod.ts";

/** Fields that have expired at `nowMs` count as absent. Throws a `CommandError` for an invalid dump. */
export function haveSameContent(first: Bytes, second: Bytes, nowMs: number): boolean {
  if (haveSameBytes(first, second)) return true;
  const [a, b] = [readPayload(bufferFrom(first)), readPayload(bufferFrom(second))];
  if (a.kind !== b.kind) return false;
  if (haveSameOrder(a, b)) return true;
  // Streams from before Redis 7 do not say how much their groups have read; a server estimates it.
  const withReadCounts = !hasEstimates(a) && !hasEstimates(b);
  return areEqual(partsOf(a, { nowMs, withReadCounts }), partsOf(b, { nowMs, withReadCounts }));
}

/** The footer says by which server a dump was written, which changes no type that all servers have. */
function haveSameBytes(first: Bytes, second: Bytes): boolean {
  if (first === second) return true;
  if (first.length !== second.length || first.charCodeAt(0) >= COMMON_TYPES_END) return false;
  return first.startsWith(second.slice(0, -FOOTER_BYTES));
}

/** Most servers keep the order of a small collection, which saves sorting it. */
function haveSameOrder(a: Dumped, b: Dumped): boolean {
  if (a.kind === "set" && b.kind === "set") return areEqual(a.members, b.members);
  if (a.kind === "sorted set" && b.kind === "sorted set")
    return areEqual(a.members, b.members) && areEqual(a.scores, b.scores);
  if (a.kind !== "hash" || b.kind !== "hash" || a.expiriesMs !== undefined || b.expiriesMs !== undefined) return false;
  return areEqual(a.fields, b.fields) && areEqual(a.values, b.values);
}

function areEqual<Part extends Bytes | number>(parts: readonly Part[], others: readonly Part[]): boolean {
  return parts.length === others.length && parts.every((part, index) => part === others[index]);
}

/** Whether the value is a hash whose fields have all expired: no server keeps such a key. */
export function isExpiredHash(payload: Bytes, nowMs: number): boolean {
  const dumped = readPayload(bufferFrom(payload));
  return dumped.kind === "hash" && (dumped.expiriesMs?.every((atMs) => atMs > 0 && atMs <= nowMs) ?? false);
}

function hasEstimates(dumped: Dumped): boolean {
  return dumped.kind === "stream" && dumped.groups.some(({ readCount }) => readCount === "estimate");
}

interface PartOptions {
  readonly nowMs: number;
  readonly withReadCounts: boolean;
}

/** Two values of one kind have the same parts exactly if their contents are the same. */
function partsOf(dumped: Dumped, options: PartOptions): readonly Bytes[] {
  switch (dumped.kind) {
    case "string":
      return [typeof dumped.bytes === "string" ? dumped.bytes : bytesFrom(Buffer.from(dumped.bytes))];
    case "list":
      return dumped.elements;
    case "set":
      return [...dumped.members].sort();
    case "sorted set": {
      const { members, scores } = dumped;
      return sortedParts(members, (index) => [`${scores[index]}`]);
    }
    case "hash":
      return hashParts(dumped, options);
    case "stream":
      return streamParts(dumped, options);
    default: {
      const never: never = dumped;
      throw new Error(`Unknown value ${String(never)}`);
    }
  }
}

function hashParts({ fields, values, expiriesMs }: DumpedHash, { nowMs }: PartOptions): readonly Bytes[] {
  const momentOf = (index: number): number => expiriesMs?.[index] ?? 0;
  const isThere = (index: number): boolean => momentOf(index) === 0 || momentOf(index) > nowMs;
  return sortedParts(fields, (index) => (isThere(index) ? [values[index] ?? "", `${momentOf(index)}`] : undefined));
}

/** A number before each list says where it ends. */
function streamParts(stream: DumpedStream, { withReadCounts }: PartOptions): readonly Bytes[] {
  const entries = stream.entries.flatMap((entry) => [
    formatId(entry),
    `${entry.names.length}`,
    ...entry.names.flatMap((name, index) => [name, entry.values[index] ?? ""]),
  ]);
  const { groups } = stream;
  const groupParts = sortedParts(
    groups.map(({ name }) => name),
    (index) => {
      const { lastId, readCount, consumers } = groups[index] as (typeof groups)[number];
      const rows = consumers.map(({ name, seenMs, pending }) => [
        name,
        `${seenMs}`,
        ...pending.map((one) => `${formatId(one)} ${one.deliveredAtMs} ${one.deliveryCount}`),
      ]);
      return [
        formatId(lastId),
        withReadCounts ? `${readCount}` : "",
        `${rows.length}`,
        ...rows.map((row) => JSON.stringify(row)).sort(),
      ];
    },
  );
  const { lastId, maxDeletedId, addedCount } = stream;
  const heads = [`${stream.entries.length}`, formatId(lastId), formatId(maxDeletedId), `${addedCount}`];
  return [heads, entries, groupParts].flat();
}

/** Names in order, each with its parts; a name without parts is left out. */
function sortedParts(names: readonly Bytes[], of: (index: number) => readonly Bytes[] | undefined): readonly Bytes[] {
  const order = names.map((_, index) => index).sort((a, b) => compare(names[a] ?? "", names[b] ?? ""));
  return order.flatMap((index) => {
    const parts = of(index);
    return parts === undefined ? [] : [names[index] ?? "", ...parts];
  });
}

function compare(a: Bytes, b: Bytes): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Compares the content of two dumps. Their bytes may differ: one value has many
 * encodings, and sets and hashes have no order. So values are decoded into columns
 * in one order, unless their bytes say enough; fields that may legitimately differ
 * between servers are left out.
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
  writePayload,
} from "../../store/structures/rdb/mod.ts";

/** Fields that have expired at `nowMs` count as absent. Throws a `CommandError` for an invalid dump. */
export function haveSameContent(first: Bytes, second: Bytes, nowMs: number): boolean {
  if (haveSameBytes(first, second)) return true;
  const a = readPayload(bufferFrom(first));
  // A larder has one encoding of a value, and most values keep their order: the second one need not be decoded.
  if (!hasEstimates(a) && haveSameBytes(bytesFrom(writePayload(a)), second)) return true;
  const b = readPayload(bufferFrom(second));
  if (a.kind !== b.kind) return false;
  // Streams from before Redis 7 do not say how much their groups have read; a server estimates it.
  const withReadCounts = !hasEstimates(a) && !hasEstimates(b);
  return areEqual(columnsOf(a, { nowMs, withReadCounts }), columnsOf(b, { nowMs, withReadCounts }));
}

/** The footer says by which server a dump was written, which changes no type that all servers have. */
function haveSameBytes(first: Bytes, second: Bytes): boolean {
  if (first === second) return true;
  if (first.length !== second.length || first.charCodeAt(0) >= COMMON_TYPES_END) return false;
  return first.startsWith(second.slice(0, -FOOTER_BYTES));
}

/** Whether the value is a hash whose fields have all expired: no server keeps such a key. */
export function isExpiredHash(payload: Bytes, nowMs: number): boolean {
  const dumped = readPayload(bufferFrom(payload));
  return dumped.kind === "hash" && (dumped.expiriesMs?.every((atMs) => atMs > 0 && atMs <= nowMs) ?? false);
}

function hasEstimates(dumped: Dumped): boolean {
  return dumped.kind === "stream" && dumped.groups.some(({ readCount }) => readCount === "estimate");
}

interface ColumnOptions {
  readonly nowMs: number;
  readonly withReadCounts: boolean;
}

/** One row for each element, whose name is in the first column. */
type Columns = readonly (readonly (Bytes | number)[])[];

/** Two values of one kind have the same rows exactly if their contents are the same. */
function columnsOf(dumped: Dumped, { nowMs, withReadCounts }: ColumnOptions): Columns {
  switch (dumped.kind) {
    case "string":
      return [[typeof dumped.bytes === "string" ? dumped.bytes : bytesFrom(Buffer.from(dumped.bytes))]];
    case "list":
      return [dumped.elements];
    case "set":
      return sorted([dumped.members]);
    case "sorted set":
      return sorted([dumped.members, dumped.scores]);
    case "hash":
      return sorted(hashColumns(dumped, nowMs));
    case "stream":
      return [streamParts(dumped, withReadCounts)];
    default: {
      const never: never = dumped;
      throw new Error(`Unknown value ${String(never)}`);
    }
  }
}

function hashColumns({ fields, values, expiriesMs }: DumpedHash, nowMs: number): Columns {
  if (expiriesMs === undefined) return [fields, values, fields.map(() => 0)];
  const isThere = expiriesMs.map((atMs) => atMs === 0 || atMs > nowMs);
  return [fields, values, expiriesMs].map((column: Columns[number]) => column.filter((_, index) => isThere[index]));
}

function areEqual(columns: Columns, others: Columns): boolean {
  return columns.every((column, at) => {
    const other = others[at];
    return column.length === other?.length && column.every((cell, index) => cell === other[index]);
  });
}

/** With the rows in the order of their names. */
function sorted(columns: Columns): Columns {
  const names = columns[0] ?? [];
  const order = [...names.keys()].sort((a, b) => compare(names[a] ?? "", names[b] ?? ""));
  return columns.map((column) => order.map((index) => column[index] ?? ""));
}

/** A number before each list says where it ends. */
function streamParts(stream: DumpedStream, withReadCounts: boolean): readonly Bytes[] {
  const entries = stream.entries.flatMap((entry) => [
    formatId(entry),
    `${entry.names.length}`,
    ...entry.names.flatMap((name, index) => [name, entry.values[index] ?? ""]),
  ]);
  const groups = [...stream.groups].sort((a, b) => compare(a.name, b.name));
  const groupParts = groups.flatMap(({ name, lastId, readCount, consumers }) => {
    const rows = consumers.map(({ name: consumer, seenMs, pending }) => [
      consumer,
      `${seenMs}`,
      ...pending.map((one) => `${formatId(one)} ${one.deliveredAtMs} ${one.deliveryCount}`),
    ]);
    return [
      name,
      formatId(lastId),
      withReadCounts ? `${readCount}` : "",
      `${rows.length}`,
      ...rows.map((row) => JSON.stringify(row)).sort(),
    ];
  });
  const { lastId, maxDeletedId, addedCount } = stream;
  const heads = [`${stream.entries.length}`, formatId(lastId), formatId(maxDeletedId), `${addedCount}`];
  return [heads, entries, groupParts].flat();
}

function compare<Name extends Bytes | number>(a: Name, b: Name): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

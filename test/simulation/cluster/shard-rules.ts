/** What must hold of a shard in the log store whenever something was committed. */
import type { SnapshotPointer } from "../../../src/cluster/log-store/log-store.ts";
import { FILE_HEADER_BYTES, MARK_BYTES, parseFileHeader } from "../../../src/persistence/journal/file-format.ts";
import type { ModelDatabase } from "./model-log-store.ts";

export interface CheckedShard {
  readonly database: ModelDatabase;
  readonly shard: number;
  readonly area: string;
  /** The longest row. */
  readonly rowBytesMax: number;
  /** The salt of each segment that was ever seen, and the epoch that began it. */
  readonly salts: Map<string, number>;
  /** The object store. */
  readonly objects: ReadonlyMap<string, Buffer>;
}

/** The latest snapshot, as the row of the shard names it. */
export function pointerOf({ database, shard }: CheckedShard): SnapshotPointer | undefined {
  return database.shards.find(`${shard}`, database.begin())?.snapshot;
}

/** The broken rule, or undefined. */
export function brokenShardRule(checked: CheckedShard): string | undefined {
  const { database, shard } = checked;
  const statement = database.begin();
  const segments = new Map<number, { start: number; epoch: number; bytes: Buffer }[]>();
  for (const [, row] of database.log.rows(statement)) {
    if (row.shard !== shard) continue;
    const rows = segments.get(row.segment) ?? [];
    rows.push(row);
    segments.set(row.segment, rows);
  }
  for (const [number, rows] of segments) {
    rows.sort((a, b) => a.start - b.start);
    const broken = brokenSegmentRule(checked, number, rows) ?? brokenSalt(checked, number, rows);
    if (broken !== undefined) return broken;
  }
  const pointer = pointerOf(checked);
  const numbers = [...segments.keys()].filter((number) => number >= (pointer?.number ?? 1)).sort((a, b) => a - b);
  const missing = numbers.find((number, index) => number !== (pointer?.number ?? 1) + index);
  if (missing !== undefined || (pointer !== undefined && numbers.length === 0)) {
    return `I10: the snapshot ${pointer?.number} is followed by the segments ${numbers}`;
  }
  if (pointer === undefined) return undefined;
  if (pointer.object !== undefined) {
    const found = checked.objects.get(pointer.object.name)?.length ?? 0;
    return found === pointer.bytes
      ? undefined
      : `The object ${pointer.object.name} has ${found} of ${pointer.bytes} bytes`;
  }
  const parts = database.parts
    .rows(statement)
    .map(([, part]) => part)
    .filter((part) => part.shard === shard && part.epoch === pointer.epoch && part.number === pointer.number);
  const bytes = parts.reduce((sum, part) => sum + part.bytes.length, 0);
  if (parts.length === pointer.parts && bytes === pointer.bytes) return undefined;
  return `The snapshot ${pointer.number} has ${bytes} bytes in ${parts.length} parts, and its pointer names others`;
}

type Rows = readonly { readonly start: number; readonly epoch: number; readonly bytes: Buffer }[];

function brokenSegmentRule({ rowBytesMax }: CheckedShard, number: number, rows: Rows): string | undefined {
  const writer = rows[0]?.epoch ?? 0;
  let end = 0;
  let epoch = writer;
  let laterBytes = 0;
  for (const row of rows) {
    if (row.start !== end) return `I2: segment ${number} has a row at ${row.start} after ${end}`;
    if (row.epoch < epoch) return `I2: segment ${number} has a row of epoch ${row.epoch} after one of ${epoch}`;
    epoch = row.epoch;
    end += row.bytes.length;
    if (epoch > writer) laterBytes += row.bytes.length;
  }
  // A later epoch adds an end mark, and before it the whole frames of a row that it has cut.
  if (laterBytes < rowBytesMax + MARK_BYTES) return undefined;
  return `I2: segment ${number} of epoch ${writer} has ${laterBytes} bytes of later epochs`;
}

function brokenSalt({ area, salts }: CheckedShard, number: number, rows: Rows): string | undefined {
  const first = rows[0]?.bytes ?? Buffer.alloc(0);
  if (first.length < FILE_HEADER_BYTES) return `I3: segment ${number} begins with a row of ${first.length} bytes`;
  const { salt } = parseFileHeader(first, { kind: "segment", path: `segment ${number}`, area, number });
  const name = `${number} of epoch ${rows[0]?.epoch}`;
  salts.set(name, salt);
  const other = [...salts].find(([each, itsSalt]) => each !== name && itsSalt === salt);
  return other === undefined ? undefined : `I3: the segments ${name} and ${other[0]} have the same salt`;
}

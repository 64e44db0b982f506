/** The rows of a shard that an import writes: pieces of its segments and of its snapshot, and then the shard itself. */
import { ROW_BYTES_MAX } from "../../../../cluster/shipped/segment-log.ts";
import { PART_BYTES } from "../../../../cluster/shipped/snapshot-store.ts";
import { type FileKind, FORMAT } from "../../../../persistence/journal/file-format.ts";
import type { Transaction } from "../transaction.ts";

/** The bytes of each piece of a file but the last one: those of a row that a node writes, and those of a part. */
export const PIECE_BYTES: Readonly<Record<FileKind, number>> = { segment: ROW_BYTES_MAX, snapshot: PART_BYTES };

const INSERT_ROW = `INSERT INTO larder.log (shard, segment, start, stop, epoch, bytes)
  VALUES ($1::int, $2::bigint, $3::bigint, $3::bigint + length($5::bytea), $4::bigint, $5::bytea)`;

/** Parts of a snapshot that was never completed may be there. */
const REMOVE_PARTS = "DELETE FROM larder.snapshot_part WHERE shard = $1::int";

const INSERT_PART = `INSERT INTO larder.snapshot_part (shard, epoch, number, part, bytes)
  VALUES ($1::int, $2::bigint, $3::bigint, $4::int, $5::bytea)`;

const SET_SHARD = `UPDATE larder.shard SET epoch = $2::bigint, owner = NULL, heir = NULL, tries = 0,
    writer_format = greatest(writer_format, $3::int), snapshot_epoch = $4::bigint, snapshot_number = $5::bigint,
    snapshot_parts = $6::int, snapshot_bytes = $7::bigint
  WHERE id = $1::int`;

export interface ShardTarget {
  readonly shard: number;
  /** A new one, so that a former owner can add nothing. */
  readonly epoch: number;
}

export class ShardRows {
  readonly #transaction: Transaction;
  readonly #target: ShardTarget;

  private constructor(transaction: Transaction, target: ShardTarget) {
    this.#transaction = transaction;
    this.#target = target;
  }

  /** The shard has no rows of the log and no snapshot. */
  static async begin(transaction: Transaction, target: ShardTarget): Promise<ShardRows> {
    await transaction.rows(REMOVE_PARTS, [target.shard]);
    return new ShardRows(transaction, target);
  }

  /** Adds the piece of a file that begins at its byte `start`, a multiple of its `PIECE_BYTES`. */
  async put({ kind, number }: { kind: FileKind; number: number }, start: number, bytes: Uint8Array): Promise<void> {
    const { shard, epoch } = this.#target;
    if (kind === "segment") await this.#transaction.rows(INSERT_ROW, [shard, number, start, epoch, bytes]);
    else await this.#transaction.rows(INSERT_PART, [shard, epoch, number, start / PART_BYTES, bytes]);
  }

  /** All pieces are there. `snapshot` is the number and the bytes of the one that the shard has. */
  async end(snapshot: { readonly number: number; readonly bytes: number } | undefined): Promise<void> {
    const { shard, epoch } = this.#target;
    const pointer =
      snapshot === undefined
        ? [null, null, null, null]
        : [epoch, snapshot.number, Math.ceil(snapshot.bytes / PART_BYTES), snapshot.bytes];
    await this.#transaction.rows(SET_SHARD, [shard, epoch, FORMAT, ...pointer]);
  }
}

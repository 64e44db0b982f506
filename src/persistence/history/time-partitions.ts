/**
 * The time partitions of the writer: consecutive ranges that together cover all
 * time. On disk they are called spans (layout.ts).
 *
 * (1) Partition 0 begins at 0 and is never removed. It holds entries that are
 *     older than all other partitions.
 * (2) Partitions are numbered in the order of time. The newest one ends, and the
 *     next begins, at the time of an entry that is later than all earlier ones,
 *     so no entry changes its partition. After a wall clock that was far ahead
 *     is set back, the newest partition grows beyond its size, and its listings
 *     take longer.
 */
import { assert } from "../../kernel/assert.ts";
import { type Database, numberOf, type Statement } from "./database.ts";
import { PARTITION_ENTRIES, TIME_MS_END } from "./layout.ts";

interface TimePartition {
  readonly number: number;
  readonly startMs: number;
  endMs: number;
  lastMs: number;
  entryCount: number;
  isChanged: boolean;
}

export class TimePartitions {
  readonly #partitionEntries: number;
  readonly #select: Statement;
  readonly #write: Statement;
  #partitions: TimePartition[] = [];

  constructor(database: Database, partitionEntries = PARTITION_ENTRIES) {
    this.#partitionEntries = partitionEntries;
    this.#select = database.prepare("SELECT * FROM span ORDER BY number");
    this.#write = database.prepare("INSERT OR REPLACE INTO span VALUES (?, ?, ?, ?, ?)");
    this.read();
  }

  /** Reads the partitions from the file, after other code changed them or after a rollback. */
  read(): void {
    this.#partitions = this.#select.all().map((row) => ({
      number: numberOf(row["number"]),
      startMs: numberOf(row["start_ms"]),
      endMs: numberOf(row["end_ms"]),
      lastMs: numberOf(row["last_ms"]),
      entryCount: numberOf(row["entry_count"]),
      isChanged: false,
    }));
  }

  /** Counts one entry. Returns the number of its partition. */
  take(timeMs: number): number {
    const newest = this.#partitions.at(-1);
    const partition = newest === undefined || timeMs < newest.startMs ? this.#find(timeMs) : newest;
    if (partition === newest && partition.entryCount >= this.#partitionEntries && timeMs > partition.lastMs)
      return this.#begin(timeMs, partition);
    partition.entryCount += 1;
    if (timeMs > partition.lastMs) partition.lastMs = timeMs;
    partition.isChanged = true;
    return partition.number;
  }

  /** Writes the changes of `take`. */
  write(): void {
    for (const partition of this.#partitions) {
      if (!partition.isChanged) continue;
      this.#write.run(partition.number, partition.startMs, partition.endMs, partition.lastMs, partition.entryCount);
      partition.isChanged = false;
    }
  }

  #begin(startMs: number, before: TimePartition): number {
    before.endMs = startMs;
    before.isChanged = true;
    const number = before.number + 1;
    this.#partitions.push({ number, startMs, endMs: TIME_MS_END, lastMs: startMs, entryCount: 1, isChanged: true });
    return number;
  }

  /** Searches backwards from the newest: most late entries are only a little late. */
  #find(timeMs: number): TimePartition {
    const partition = this.#partitions.findLast(({ startMs }) => startMs <= timeMs);
    assert(partition !== undefined, "partition 0 begins before all entries"); // keeps (1)
    return partition;
  }
}

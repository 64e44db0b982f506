/** Why a node stops serving a shard, or cannot begin to. */
import type { SnapshotObject } from "../log-store/log-store.ts";

/** Another node has claimed the shard: nothing of this one is stored any more, and its process must end. */
export class Deposed extends Error {
  override name = "Deposed";

  constructor({ shard, epoch }: { shard: number; epoch: number }) {
    super(`Another node has claimed shard ${shard} after epoch ${epoch}`);
  }
}

/** The bytes that the log store returns cannot be those that it acknowledged. */
export class DamagedLog extends Error {
  override name = "DamagedLog";

  constructor(shard: number, what: string, cause?: unknown) {
    super(`Shard ${shard} is damaged in PostgreSQL: ${what}. Restore the database from a backup`, { cause });
  }
}

/** The object that is the latest snapshot is missing, or is not what was written. */
export class DamagedObject extends DamagedLog {
  constructor(shard: number, { address, name }: SnapshotObject, what: string) {
    super(shard, what);
    this.message = `The snapshot of shard ${shard} is damaged in the object store ${address}: of ${name}, ${what}. Restore that object, or PostgreSQL and the object store from a backup`;
  }
}

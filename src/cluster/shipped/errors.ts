/** Why a node stops serving a shard, or cannot begin to. */

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

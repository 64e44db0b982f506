/**
 * The latest snapshot of a shard, in the log store or in an object store, and the
 * removal of what it covers.
 *
 * (1) The pointer to a snapshot is written after all its parts, or after the
 *     object store has confirmed all of it.
 * (2) A segment leaves the store only when the pointer of a snapshot that covers
 *     it is committed. The store compares it too, because it may have lost its last
 *     commits: then the snapshot is uploaded again before the removal.
 */
import { assert } from "../../kernel/assert.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { snapshotPath } from "../../persistence/area-files.ts";
import { type Disk, type DiskFile, readFully, withFile } from "../../persistence/disk/disk.ts";
import { DamagedData } from "../../persistence/errors.ts";
import { type LogStore, type ShardEpoch, SnapshotIncomplete, type SnapshotPointer } from "../log-store/log-store.ts";
import { OBJECT_RETENTION_MS, ObjectSweep } from "../objects/object-sweep.ts";
import { type ObjectStores, ObjectTrouble } from "../objects/objects.ts";
import { objectPrefix, putSnapshot } from "../objects/snapshot-object.ts";
import type { CacheNotes } from "./cache-notes.ts";
import type { Statements } from "./statements.ts";

export interface SnapshotStoreOptions {
  readonly local: Disk;
  readonly directory: string;
  readonly store: LogStore;
  readonly statements: Statements;
  readonly owner: ShardEpoch;
  readonly partBytes: number;
  readonly notes: CacheNotes;
  readonly objects: SnapshotObjects;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly log: Log;
  /** Ends this owner, and returns the error for its callers. */
  deposed(): Error;
}

/** Where snapshots of a cluster are objects, if it has an object store. */
export interface SnapshotObjects {
  readonly stores: ObjectStores;
  /** The id of the cluster. */
  readonly cluster: string;
  /** Called with the reason when a snapshot cannot be read or written, and with undefined when one could be. */
  trouble(reason: string | undefined): void;
  /** For tests. */
  readonly retentionMs?: number;
}

export const PART_BYTES = 512 * 1024;

export class SnapshotStore {
  readonly #options: SnapshotStoreOptions;
  #pointer: SnapshotPointer | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #sweep: ObjectSweep;

  /** `pointer` is that of the claim. */
  constructor(options: SnapshotStoreOptions, pointer: SnapshotPointer | undefined) {
    this.#options = options;
    this.#pointer = pointer;
    const { objects, owner, clock, log, store, statements } = options;
    this.#sweep = new ObjectSweep({
      ...{ stores: objects.stores, cluster: objects.cluster, owner, clock, log },
      retentionMs: objects.retentionMs ?? OBJECT_RETENTION_MS,
      address: () => statements.run(() => store.filesAddress()),
      pointer: () => this.#pointer,
      prove: () => this.#inTurn(() => this.#proveOwner()),
    });
  }

  get pointer(): SnapshotPointer | undefined {
    return this.#pointer;
  }

  /** Removes nothing from the object store any more. */
  end(): void {
    this.#sweep.stop();
  }

  /**
   * Uploads a snapshot that is complete and durable here, and makes it the latest one. Rejects with `ObjectTrouble` if the
   * object store does not take it.
   */
  adopt(number: number): Promise<void> {
    return this.#inTurn(async () => {
      if (number <= (this.#pointer?.number ?? 0)) return;
      await this.#upload(number);
    });
  }

  /** Makes sure that the store has the latest snapshot. */
  heal(): Promise<void> {
    return this.#inTurn(() => this.#prove());
  }

  /** Removes a segment that the latest snapshot covers. */
  removeSegment(segment: number): Promise<void> {
    return this.#inTurn(async () => {
      const { store, statements, owner, deposed } = this.#options;
      assert(segment < (this.#pointer?.number ?? 0), "only what a snapshot covers leaves the log");
      for (;;) {
        const outcome = await statements.run(() => store.removeSegments(owner, [segment]));
        if (outcome === "deposed") throw deposed();
        if (outcome === "committed") return;
        await this.#prove(); // keeps (2)
      }
    });
  }

  /** A commit of this owner, also if the latest snapshot is one of an earlier epoch. */
  async #proveOwner(): Promise<void> {
    const { store, statements, owner, deposed } = this.#options;
    if ((await statements.run(() => store.removeSegments(owner, []))) === "deposed") throw deposed();
    await this.#prove();
  }

  async #prove(): Promise<void> {
    const pointer = this.#pointer;
    if (pointer === undefined) return;
    // The parts of another epoch are in the store under that one, and their pointer is as old as the claim.
    if (pointer.epoch !== this.#options.owner.epoch) return;
    try {
      await this.#complete(pointer);
    } catch (error) {
      if (!(error instanceof SnapshotIncomplete)) throw error;
      await this.#upload(pointer.number);
    }
  }

  async #upload(number: number): Promise<void> {
    const { local, directory, notes, store, statements } = this.#options;
    const path = snapshotPath(directory, number);
    const address = await statements.run(() => store.filesAddress());
    const pointer = await withFile(await local.open(path, "read"), async (file) => {
      if (address !== undefined) {
        const sent = await this.#putObject(address, file, { path, number });
        await this.#complete(sent); // keeps (1)
        return sent;
      }
      for (;;) {
        const sent = await this.#putParts(file, { path, number });
        try {
          await this.#complete(sent); // keeps (1)
          return sent;
        } catch (error) {
          if (!(error instanceof SnapshotIncomplete)) throw error;
        }
      }
    });
    this.#pointer = pointer;
    notes.noteSnapshot({ number, epoch: pointer.epoch, bytes: pointer.bytes });
  }

  async #putObject(
    address: string,
    file: DiskFile,
    { path, number }: { path: string; number: number },
  ): Promise<SnapshotPointer> {
    const { owner, objects } = this.#options;
    const { shard, epoch } = owner;
    const prefix = objectPrefix(objects.cluster, shard);
    try {
      const sent = await putSnapshot(objects.stores, address, { prefix, epoch, number, path, file });
      objects.trouble(undefined);
      return { epoch, number, parts: 0, ...sent };
    } catch (fault) {
      if (fault instanceof ObjectTrouble) objects.trouble(fault.message);
      throw fault;
    }
  }

  async #putParts(file: DiskFile, { path, number }: { path: string; number: number }): Promise<SnapshotPointer> {
    const { store, statements, owner, partBytes, deposed } = this.#options;
    const size = await file.size();
    const parts = Math.ceil(size / partBytes);
    for (let part = 0; part < parts; part += 1) {
      const start = part * partBytes;
      const bytes = Buffer.allocUnsafe(Math.min(partBytes, size - start));
      const count = await readFully(file, bytes, start);
      if (count < bytes.length) throw new DamagedData(path, start + count, "it became shorter");
      const outcome = await statements.run(() => store.putSnapshotPart({ ...owner, number, part, bytes }));
      if (outcome === "deposed") throw deposed();
    }
    return { epoch: owner.epoch, number, parts, bytes: size };
  }

  async #complete({ epoch: _, ...snapshot }: SnapshotPointer): Promise<void> {
    const { store, statements, owner, deposed } = this.#options;
    const outcome = await statements.run(() => store.completeSnapshot(owner, snapshot));
    if (outcome === "deposed") throw deposed();
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined); // The caller receives the error.
    return result;
  }
}

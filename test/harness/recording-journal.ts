/**
 * A journal in memory that is always durable and retains every frame, for tests that replay them. In the suites of a
 * cluster its frames are also in a shard, and become safe there.
 */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { Journal } from "../../src/kernel/journal.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { Store } from "../../src/store/store.ts";
import type { SuiteShard } from "./cluster/suite-shard.ts";

export class RecordingJournal implements Journal {
  readonly frames: Buffer[] = [];
  /** The durable position: everything, unless a test sets it. */
  unsyncedCount = 0;
  /** A longer frame does not fit the disk. */
  frameBytesMax = Number.POSITIVE_INFINITY;
  readonly #shard: SuiteShard | undefined;
  #refusal: string | undefined;

  constructor(shard?: SuiteShard) {
    this.#shard = shard;
  }

  get appendedOffset(): number {
    return this.#shard?.appendedOffset ?? 0;
  }

  get refusal(): string | undefined {
    return this.#refusal ?? this.#shard?.refusal;
  }

  /** Refuses writes, as a full disk does. */
  set refusal(reason: string | undefined) {
    this.#refusal = reason;
  }

  get end(): number {
    return this.frames.length;
  }

  get safe(): number {
    return this.#shard?.safe ?? this.end;
  }

  get synced(): number {
    return (this.#shard?.synced ?? this.end) - this.unsyncedCount;
  }

  get isTight(): boolean {
    return this.frameBytesMax < Number.POSITIVE_INFINITY;
  }

  lackFor(bytes: number): string | undefined {
    return bytes > this.frameBytesMax ? "no space is left on the device" : undefined;
  }

  append(frame: Uint8Array): number {
    this.frames.push(Buffer.from(frame));
    this.#shard?.append(frame, this.end);
    return this.end;
  }

  async whenSafe(position: number): Promise<void> {
    await this.#shard?.whenSafe(position);
  }
}

const JOURNAL = { segment: 1, offset: 0 };

/** A store rebuilt from these frames of a journal, on a separate clock. */
export function replayed(frames: Iterable<Uint8Array>, clock = new VirtualClock()): Store {
  return rebuilt(frames, { clock, place: JOURNAL });
}

/** A store rebuilt from these frames of a snapshot, on a separate clock. */
export function restored(frames: Iterable<Uint8Array>, clock = new VirtualClock()): Store {
  return rebuilt(frames, { clock, place: undefined });
}

function rebuilt(
  frames: Iterable<Uint8Array>,
  { clock, place }: { clock: VirtualClock; place: typeof JOURNAL | undefined },
): Store {
  const store = new Store({
    journal: new RecordingJournal(),
    clock,
    random: seededRandom(2),
    hashSeed: new Uint8Array(8),
  });
  store.beginRecovery();
  for (const frame of frames) store.replay(Buffer.from(frame), place);
  store.endRecovery();
  return store;
}

/** The whole state of a store, in its order. */
export function contentOf(store: Store): readonly string[] {
  return Array.from(store.dump(), (frame) => Buffer.from(frame).toString("hex"));
}

/** A journal in memory that is always durable and retains every frame, for tests that replay them. */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { Journal } from "../../src/kernel/journal.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { Store } from "../../src/store/store.ts";

export class RecordingJournal implements Journal {
  readonly appendedOffset = 0;
  readonly frames: Buffer[] = [];
  /** Set it to refuse writes, as a full disk does. */
  refusal: string | undefined;
  /** The durable position: everything, unless a test sets it. */
  unsyncedCount = 0;

  get end(): number {
    return this.frames.length;
  }

  get safe(): number {
    return this.end;
  }

  get synced(): number {
    return this.end - this.unsyncedCount;
  }

  append(frame: Uint8Array): number {
    this.frames.push(Buffer.from(frame));
    return this.end;
  }

  async whenSafe(): Promise<void> {}
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

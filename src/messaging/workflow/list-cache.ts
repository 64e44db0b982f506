/**
 * The texts of lists that are kept, so that a delivery writes only what has come
 * since the one before it. They are a copy of what lies with the entries, and
 * may go at any time.
 *
 * (1) Together they take BYTES_MAX at most; the run that was not called for
 *     longest goes first. A text of more than a quarter of that is not kept.
 * (2) A text is of one start of a run: it goes with the entries.
 * (3) Bodies that lie on the disk are all asked for at once, before anything
 *     can happen to the run.
 */
import type { Bodies } from "../bodies/body.ts";
import type { CallBody } from "../delivery/delivery.ts";
import type { Entry, Run } from "../state/run.ts";
import { ListText } from "./list-text.ts";

const BYTES_MAX = 64 * 1024 * 1024;
const SHARE_MAX = 1 / 4;

export class ListCache {
  readonly #bodies: Bodies;
  readonly #bytesMax: number;
  /** Called for longest ago first. */
  readonly #texts = new Map<Run, ListText>();
  #bytes = 0;

  constructor(bodies: Bodies, bytesMax: number = BYTES_MAX) {
    this.#bodies = bodies;
    this.#bytesMax = bytesMax;
  }

  /** Memory that the texts take, about. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#texts.size;
  }

  /** The list of a run up to the entry at `index`. Rejects as `Bodies.load` does. */
  listUpTo(run: Run, index: number): CallBody | Promise<CallBody> {
    const text = this.#textOf(run);
    if (index < text.count) return listOf(text, index);
    const from = text.count;
    const loaded = loadAll(this.#bodies, run.entries, { from, to: index + 1 }); // keeps (3)
    if (loaded instanceof Promise) return loaded.then((bodies) => this.#extend(text, bodies, { from, index }));
    return this.#extend(text, loaded, { from, index });
  }

  /** The text of a run, which goes last from now on. */
  #textOf(run: Run): ListText {
    const known = this.#texts.get(run);
    if (known !== undefined) {
      this.#texts.delete(run);
      this.#texts.set(run, known);
      return known;
    }
    const text = new ListText(run, (gone) => this.#remove(gone));
    run.stepsPayload = text;
    this.#texts.set(run, text);
    this.#bytes += text.bytes;
    return text;
  }

  /** `bodies` are of the entries after the first `from`; others may have put some of them into the text meanwhile. */
  #extend(text: ListText, bodies: readonly Buffer[], { from, index }: { from: number; index: number }): CallBody {
    const before = text.bytes;
    while (text.count <= index) text.add(bodies[text.count - from] as Buffer);
    if (this.#has(text)) {
      this.#bytes += text.bytes - before;
      this.#evict(text);
    }
    return listOf(text, index);
  }

  /** keeps (1) */
  #evict(latest: ListText): void {
    if (latest.bytes > this.#bytesMax * SHARE_MAX) this.#remove(latest);
    for (const text of this.#texts.values()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#remove(text);
    }
  }

  #remove(text: ListText): void {
    if (!this.#has(text)) return;
    this.#texts.delete(text.run);
    this.#bytes -= text.bytes;
    text.run.stepsPayload = undefined;
  }

  /** False for a text whose place another one has taken, or nothing. */
  #has(text: ListText): boolean {
    return this.#texts.get(text.run) === text;
  }
}

/** Bodies of entries, at once if they are all in memory. Rejects as `Bodies.load` does. */
function loadAll(
  bodies: Bodies,
  entries: readonly Entry[],
  { from, to }: { from: number; to: number },
): readonly Buffer[] | Promise<readonly Buffer[]> {
  const loaded: (Buffer | Promise<Buffer>)[] = [];
  let isReading = false;
  for (let index = from; index < to; index += 1) {
    const bytes = bodies.load((entries[index] as Entry).body);
    if (bytes instanceof Promise) isReading = true;
    loaded.push(bytes);
  }
  return isReading ? Promise.all(loaded) : (loaded as Buffer[]);
}

/** What the run began with is asked for when it fails, which is seldom. */
function listOf(text: ListText, index: number): CallBody {
  const { pieces, digest } = text.upTo(index);
  return {
    sent: pieces,
    digest,
    get initial() {
      return text.firstBody();
    },
  };
}

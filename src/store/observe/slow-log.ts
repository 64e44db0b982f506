/**
 * Recent slow commands of a database, for SLOWLOG. In memory: a start begins
 * with an empty log.
 *
 * (1) Ids rise by one for each entry, and a reset does not restart them.
 * (2) The number of entries is bounded by the setting, and so are the words of each.
 * (3) Words that may hold a secret are not stored: callers pass the row's `shownWords`.
 */
import { type Bytes, copyOf } from "../../kernel/bytes.ts";

export interface SlowEntry {
  readonly id: number;
  /** When it ran. */
  readonly atMs: number;
  readonly tookUs: number;
  /** As received, within the bounds of (2). */
  readonly words: readonly Bytes[];
  /** `address:port` of the caller, and its client name. */
  readonly address: string;
  readonly clientName: Bytes;
}

/** As in Redis: words of an entry, and bytes of a word. */
const WORDS_MAX = 32;
const WORD_BYTES_MAX = 128;

export class SlowLog {
  /** The oldest first. */
  #entries: SlowEntry[] = [];
  #idNext = 0;

  get length(): number {
    return this.#entries.length;
  }

  /** The newest first, up to a count. */
  newest(countMax: number): readonly SlowEntry[] {
    const { length } = this.#entries;
    return this.#entries.slice(Math.max(0, length - countMax)).reverse();
  }

  /** keeps (1) */
  add(run: Omit<SlowEntry, "id">, lengthMax: number): void {
    this.#entries.push({ ...run, id: this.#idNext, words: shortened(run.words) });
    this.#idNext += 1;
    this.shorten(lengthMax);
  }

  /** keeps (2) */
  shorten(lengthMax: number): void {
    const surplus = this.#entries.length - lengthMax;
    if (surplus > 0) this.#entries.splice(0, surplus);
  }

  clear(): void {
    this.#entries = [];
  }
}

/** keeps (2), in Redis' words */
function shortened(words: readonly Bytes[]): readonly Bytes[] {
  const firstWords = words.length > WORDS_MAX ? words.slice(0, WORDS_MAX - 1) : words;
  const short = firstWords.map((word) => {
    const surplus = word.length - WORD_BYTES_MAX;
    return surplus > 0 ? `${copyOf(word, 0, WORD_BYTES_MAX)}... (${surplus} more bytes)` : word;
  });
  if (words.length > WORDS_MAX) short.push(`... (${words.length - short.length} more arguments)`);
  return short;
}

/** From a word in lower case to its term, remembered for the words that texts repeat. */
import { type Bytes, bytesFromText, textFromBytes } from "../../../kernel/bytes.ts";
import type { Stemmer } from "./stemmers.ts";

/** A longer word is its own stem: no human word is as long, and some stemmers take quadratic time. PostgreSQL has the same bound. */
export const STEMMED_BYTES_MAX = 1_000;

/** Words of one generation. Two of them take about 2 MB for usual words. */
const GENERATION_WORDS = 8_192;
/** Longer words are stemmed each time: they are rare, and would make the cache large. */
const REMEMBERED_BYTES_MAX = 64;

/** The terms of words, stemmed. It remembers between 8,192 and 16,384 words that occurred last. */
export class StemCache {
  readonly #stemmer: Stemmer;
  #recent = new Map<Bytes, Bytes>();
  #older = new Map<Bytes, Bytes>();

  constructor(stemmer: Stemmer) {
    this.#stemmer = stemmer;
  }

  /** The term of a word, both UTF-8. The word is in lower case, and may be a slice of a longer string. */
  termOf(word: Bytes): Bytes {
    const known = this.#recent.get(word);
    if (known !== undefined) return known;
    if (word.length > REMEMBERED_BYTES_MAX) return this.#stem(word);
    const term = this.#older.get(word) ?? this.#stem(word);
    if (this.#recent.size >= GENERATION_WORDS) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(ownCopyOf(word), term);
    return term;
  }

  #stem(word: Bytes): Bytes {
    if (word.length > STEMMED_BYTES_MAX) return ownCopyOf(word);
    const text = textFromBytes(word);
    const stem = this.#stemmer(text);
    // A few endings of Greek, Spanish, Tamil and Turkish are words themselves, of which nothing is left.
    if (stem === text || stem === "") return ownCopyOf(word);
    // The stem may be a slice or a chain of parts.
    return ownCopyOf(bytesFromText(stem));
  }
}

/** V8 copies shorter slices anyway. */
const SLICE_LENGTH_MIN = 13;

/** The same bytes in a string that keeps no longer one alive. */
export function ownCopyOf(bytes: Bytes): Bytes {
  return bytes.length < SLICE_LENGTH_MIN ? bytes : Buffer.from(bytes, "latin1").latin1Slice();
}

/** Documents for benches of search: titles and bodies of words in a Zipf distribution, a price and a zone. */
import { seededRandom } from "../../src/kernel/random.ts";

const WORD_COUNT = 40_000;
const TITLE_WORDS = 6;
const BODY_WORDS = 40;
const ZONES = 20;
/** Prices are below it, in steps of 0.01. */
export const PRICE_BOUND = 1_000;

export interface BenchDocument {
  readonly title: string;
  readonly body: string;
  readonly price: number;
  readonly zone: string;
}

/** Words of 3 to 9 small letters; the first letters of the alphabet are more frequent. */
export function drawWords(random = seededRandom(1)): string[] {
  const words = new Set<string>();
  while (words.size < WORD_COUNT) {
    const length = 3 + random.below(7);
    const codes = Array.from({ length }, () => 0x61 + Math.floor(26 * random.unit() * random.unit()));
    words.add(String.fromCharCode(...codes));
  }
  return [...words];
}

/** Draws the word of rank r with a chance in proportion to 1 / r. */
export function zipfSource(words: readonly string[], random = seededRandom(2)): () => string {
  const sums = new Float64Array(words.length);
  let sum = 0;
  for (let i = 0; i < words.length; i += 1) {
    sum += 1 / (i + 1);
    sums[i] = sum;
  }
  return () => {
    const wanted = random.unit() * sum;
    let low = 0;
    let high = words.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) < wanted) low = middle + 1;
      else high = middle;
    }
    return words[low] as string;
  };
}

export function* drawDocuments(words: readonly string[], count: number): Generator<BenchDocument> {
  const draw = zipfSource(words);
  const random = seededRandom(3);
  // From a buffer, or a text would be a tree of its words.
  const text = (length: number): string => Buffer.from(Array.from({ length }, draw).join(" ")).latin1Slice();
  for (let left = count; left > 0; left -= 1)
    yield {
      title: text(TITLE_WORDS),
      body: text(BODY_WORDS),
      price: random.below(100 * PRICE_BOUND) / 100,
      zone: `zone${random.below(ZONES)}`,
    };
}

/** The words that queries ask for. */
export interface QueryWords {
  readonly rare: string;
  readonly middling: string;
  readonly common: string;
  /** Two words in this order, next to each other in some bodies. */
  readonly pair: string;
}

/** Words that are in the bodies of 64, 1,174 and 45,000 of 100,000 documents, or as many parts of fewer or more. */
export function chooseQueryWords(words: readonly string[], documents: readonly BenchDocument[]): QueryWords {
  const found = new Map<string, number>();
  const pairs = new Map<string, number>();
  const chosen = new Set(words.slice(150, 300));
  for (const { body } of documents) {
    const list = body.split(" ");
    for (const word of new Set(list)) found.set(word, (found.get(word) ?? 0) + 1);
    for (const [at, word] of list.entries()) {
      const next = list[at + 1];
      if (next === undefined || !chosen.has(word) || !chosen.has(next)) continue;
      pairs.set(`${word} ${next}`, (pairs.get(`${word} ${next}`) ?? 0) + 1);
    }
  }
  const near = (wanted: number): string => {
    const target = (wanted * documents.length) / 100_000;
    const distance = (word: string): number => Math.abs((found.get(word) ?? 0) - target);
    return words.reduce((best, word) => (distance(word) < distance(best) ? word : best));
  };
  const [pair = ""] = [...pairs].reduce((best, next) => (next[1] > best[1] ? next : best));
  return { rare: near(64), middling: near(1_174), common: near(45_000), pair };
}

/**
 * Question: how fast does a search index take documents in, how much memory do they need, and what do its readers cost?
 *
 * Method: N documents of 6 + 40 words, a number and a keyword, with 40,000 distinct words in a Zipf distribution, divided
 * and stemmed as those of an index of the store. All times are processor time of the process, since other programs may
 * run; a reader runs many times in a row. Memory is what a clear gives back after collections, beside the figure of the
 * index.
 *
 * Read: `documents/s` at least 12,000; `bytes` at most 1,024 for a document, `figure` within 20 % of it; `fuzzy` and
 * `prefix` at most 10 ms; `next` at most 22 ns (45,000 documents in 1 ms). `compaction` is the time for a live document
 * when half of all are removed; its longest slice includes collections.
 *
 * Run: npm run bench -- search-index   (or node --expose-gc bench/search-index.bench.ts [N])
 *
 * Result, N = 100,000, with an analyzer that stemmed nothing, on two cores with a load of 15: 27,000 to 42,000
 * documents/s, 450 bytes, figure 470, fuzzy(1) 0.3 ms, fuzzy(2) 1.2 ms, a pattern `.*x` 2.7 ms, `next` 4.5 ns, with
 * frequency 13 ns, with positions 39 ns.
 */
import { seededRandom } from "../src/kernel/random.ts";
import type { FieldType, IndexDefinition, SearchDocument } from "../src/store/search/definition.ts";
import { NO_DOCUMENT } from "../src/store/search/index/index-reader.ts";
import { SearchIndex } from "../src/store/search/index/search-index.ts";
import { compileTokenPattern } from "../src/store/search/index/token-pattern.ts";
import { atOnce } from "../src/store/search/slices.ts";
import { analyzerFor } from "../src/store/search/text/analyzer.ts";
import { drawWords, zipfSource } from "./search/data-set.ts";
import { collectedBytes, processorMs } from "./search/measure.ts";

const TITLE_WORDS = 6;
const BODY_WORDS = 40;
const SLICE_STEPS = 100_000;

const fieldTypes: readonly FieldType[] = ["TEXT", "TEXT", "F64", "KEYWORD"];
const definition: IndexDefinition = {
  dataType: "JSON",
  prefixes: ["d:"],
  language: "english",
  fields: fieldTypes.map((type, i) => ({
    name: `f${i}`,
    type,
    isTokenized: true,
    isStemmed: true,
    isFast: true,
    path: undefined,
  })),
};

const random = seededRandom(1);

const rows: Record<string, string | number>[] = [];

/** Adds the time of one of `count` parts of a function, in ns. */
function measure(name: string, run: () => number): void {
  for (let i = 0; i < 3; i += 1) run();
  let count = 0;
  let runs = 0;
  const startMs = processorMs();
  while (processorMs() - startMs < 150) {
    count += run();
    runs += 1;
  }
  const ms = processorMs() - startMs;
  rows.push({
    name,
    "ms a run": (ms / runs).toFixed(3),
    "ns a part": ((1e6 * ms) / count).toFixed(1),
    parts: count / runs,
  });
}

const documentCount = Number(process.argv[2] ?? 100_000);
const words = drawWords(random);
const draw = zipfSource(words, random);
const text = (count: number): string => Buffer.from(Array.from({ length: count }, draw).join(" ")).latin1Slice();
const documents: SearchDocument[] = Array.from({ length: documentCount }, () => [
  [text(TITLE_WORDS)],
  [text(BODY_WORDS)],
  [random.below(100_000) / 100],
  [`zone${random.below(20)}`],
]);

const index = new SearchIndex(definition, analyzerFor, new Uint8Array(8));

/** Takes all documents in; returns the processor time in ms. */
function takeIn(): number {
  const startMs = processorMs();
  for (const [i, document] of documents.entries()) index.put(`d:${i}`, document);
  return processorMs() - startMs;
}

const coldMs = takeIn();
const figure = index.memoryBytes;
const fullBytes = collectedBytes();
index.clear();
const bytes = fullBytes - collectedBytes();
const warmMs = takeIn();
console.log({
  "documents/s": Math.round((1_000 * documentCount) / warmMs),
  "documents/s, just started": Math.round((1_000 * documentCount) / coldMs),
  bytes: Math.round(bytes / documentCount),
  figure: Math.round(figure / documentCount),
});

const body = index.text(1);
const spend = (): boolean => false;
const analyzer = analyzerFor("english", { isTokenized: true, isStemmed: true });
const stemOf = (word: string | undefined): string => analyzer.words(word as string)[0]?.term as string;
const frequent = body.term(stemOf(words[0])) as number;
const middling = body.term(stemOf(words[30])) as number;

measure("next of a frequent word", () => {
  const postings = body.postings(frequent);
  let count = 0;
  while (postings.next() !== NO_DOCUMENT) count += 1;
  return count;
});
let sink = 0;
measure("next and frequency", () => {
  const postings = body.postings(frequent);
  let count = 0;
  for (; postings.next() !== NO_DOCUMENT; count += 1) sink += postings.frequency;
  return count;
});
measure("next and positions", () => {
  const postings = body.postings(frequent);
  let count = 0;
  for (; postings.next() !== NO_DOCUMENT; count += 1) sink += postings.positions()[0] as number;
  return count;
});
measure("a seek for each document of a rarer word", () => {
  const driving = body.postings(middling);
  const probed = body.postings(frequent);
  let count = 0;
  for (let document = driving.next(); document !== NO_DOCUMENT; document = driving.next(), count += 1)
    sink += probed.seek(document);
  return count;
});
for (const distance of [1, 2]) {
  for (const isPrefix of [false, true]) {
    measure(`fuzzy(${distance})${isPrefix ? " of a prefix" : ""}`, () => {
      sink += atOnce(
        body.termsNear(stemOf(words[300]), { distance, transpositionCostOne: true, isPrefix, spend }),
      ).length;
      return 1;
    });
  }
}
measure("50 words of a prefix", () => atOnce(body.termsWithPrefix("ab", { limit: 50, spend })).length);
for (const pattern of ["ab.*c", ".*x", "(a|b|c)*d"]) {
  measure(`pattern ${pattern}`, () => {
    sink += atOnce(body.termsMatching(compileTokenPattern(pattern), spend)).length;
    return 1;
  });
}
console.table(rows);

const removalMs = processorMs();
for (let i = 0; i < documentCount; i += 2) index.remove(`d:${i}`);
const compactionMs = processorMs();
let longestMs = 0;
for (let isMore = true; isMore; ) {
  const sliceMs = processorMs();
  isMore = index.compact(SLICE_STEPS);
  longestMs = Math.max(longestMs, processorMs() - sliceMs);
}
console.log({
  "removal, µs": ((2_000 * (compactionMs - removalMs)) / documentCount).toFixed(2),
  "compaction, µs": ((2_000 * (processorMs() - compactionMs)) / documentCount).toFixed(2),
  "longest slice of 1 ms, ms": longestMs.toFixed(1),
  check: sink > 0,
});

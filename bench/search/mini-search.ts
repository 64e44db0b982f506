/** MiniSearch, a popular index in JavaScript, from `BENCH_PEERS`. It has no phrases and no columns. */
import { loadPeer } from "../peers/modules.ts";
import { type BenchDocument, PRICE_BOUND, type QueryWords } from "./data-set.ts";
import { collectedBytes, type Figures, meanMs, processorMs } from "./measure.ts";

interface SearchOptions {
  readonly fields: readonly string[];
  readonly combineWith?: "AND";
  readonly prefix?: boolean;
  readonly fuzzy?: number;
  readonly filter?: (result: { readonly price: number }) => boolean;
}

interface MiniSearch {
  add(document: BenchDocument & { readonly id: number }): void;
  search(query: string, options: SearchOptions): unknown[];
}

interface MiniSearchModule {
  readonly default?: MiniSearchModule["MiniSearch"];
  readonly MiniSearch: new (options: { fields: readonly string[]; storeFields: readonly string[] }) => MiniSearch;
}

export const MINI_SEARCH = "minisearch";

export function measureMiniSearch(documents: readonly BenchDocument[], words: QueryWords): Figures {
  const module = loadPeer<MiniSearchModule["MiniSearch"] & MiniSearchModule>(MINI_SEARCH);
  const index = new (module.default ?? module)({ fields: ["title", "body"], storeFields: ["price"] });
  const before = collectedBytes();
  const startMs = processorMs();
  for (const [id, document] of documents.entries()) index.add({ id, ...document });
  const indexMs = processorMs() - startMs;
  const bytes = collectedBytes() - before;

  const { rare, middling, common, pair } = words;
  const query =
    (text: string, options: Partial<SearchOptions> = {}) =>
    () =>
      index.search(text, { fields: ["body"], ...options }).slice(0, 10);
  const near: Partial<SearchOptions> = { prefix: true, fuzzy: 1 };
  const below = (bound: number): Partial<SearchOptions> => ({ filter: ({ price }) => price < bound });
  return {
    "index, documents/s": (1_000 * documents.length) / indexMs,
    "bytes for a document": bytes / documents.length,
    "rare word, ms": meanMs(query(rare)),
    "middling word, ms": meanMs(query(middling)),
    "common word, ms": meanMs(query(common)),
    "two words, AND, ms": meanMs(query(`${common} ${middling}`, { combineWith: "AND" })),
    "$smart of a common word, ms": meanMs(query(common, near)),
    "$smart of a rare word, ms": meanMs(query(rare, near)),
    "$smart of two words, ms": meanMs(query(pair, near)),
    "common word with a price below half, ms": meanMs(query(common, below(PRICE_BOUND / 2))),
    "common word with a rare price, ms": meanMs(query(common, below(PRICE_BOUND / 100))),
  };
}

/**
 * Random programs on a store with search indexes, beside a search through all keys.
 *
 * After a few random writes each index must show what the live keys have:
 *
 * (1) Its documents are the live keys with its prefixes and type, as `live-documents.ts` reads them.
 * (2) Documents that did not change keep their order, and others follow in the order of their last change.
 * (3) Each query finds, counts, scores and orders as the slow search, and shows the whole content of keys.
 * (4) Each aggregation is that of plain loops over the hits.
 * (5) Postings, lengths and columns are those after a restart from the journal, from a snapshot with the order of
 *     documents, and after SEARCH.REINDEX.
 *
 * The index is asked first and the keys are read afterwards, because a read removes what has expired.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type Bytes, textFromBytes } from "../../../src/kernel/bytes.ts";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { evictionPolicies } from "../../../src/store/memory/memory-settings.ts";
import { findError, type Reply } from "../../../src/store/reply/reply.ts";
import {
  definition as aggregated,
  type Flat,
  flat,
  type Nested,
  type Row,
  requests,
  slowAnswer,
} from "../../../src/store/search/aggregation/slow/slow-aggregations.virtual.ts";
import type { IndexDefinition, SearchDocument } from "../../../src/store/search/definition.ts";
import { BruteForce, slowFloat32Text } from "../../../src/store/search/query/brute-force.virtual.ts";
import type { Ranking } from "../../../src/store/search/query/contract.ts";
import { atOnce } from "../../../src/store/search/slices.ts";
import { analyzerFor } from "../../../src/store/search/text/analyzer.ts";
import type { LiveIndex } from "../../../src/store/search/upkeep/live-index.ts";
import type { Store } from "../../../src/store/store.ts";
import { memoryFault } from "../../harness/memory-recount.ts";
import { replayed, restored } from "../../harness/recording-journal.ts";
import { plainReply } from "../../harness/store-harness.ts";
import { endlessScript, isStopped, Subject } from "../store/undone-units.ts";
import { creationOf, type DrawnIndex, ProgramDraw, type Words } from "./draw-programs.ts";
import { digestOf, type IndexDigest } from "./index-digest.ts";
import { documentOf, type LiveKey, textOfDocument } from "./live-documents.ts";

export interface ProgramCounts {
  queries: number;
  hits: number;
  aggregations: number;
  restarts: number;
  undone: number;
  evicted: number;
}

/** A mistake that upkeep could make. */
export interface SearchBug {
  /** Changes an index that was just created. */
  readonly index?: (live: LiveIndex) => void;
  /** Changes the store around the scan of SEARCH.CREATE; returns how to end it. */
  readonly scan?: (store: Store) => () => void;
  /** Changes a store that was restored, before its indexes are built. */
  readonly restored?: (store: Store) => void;
}

/** What is known of an index from the last look. */
interface Known {
  readonly drawn: DrawnIndex;
  /** Documents as text, in the order of the index. */
  documents: Map<Bytes, string>;
  /** With SKIPINITIALSCAN, until a SEARCH.REINDEX: the keys that were written since. */
  seen: Set<Bytes> | undefined;
}

const STEPS = 12;
const FILTERS_PER_LOOK = 3;
const UNDO_BYTES_MAX = 3_000;
const LIMIT_MAX = 1_000;

const matchesPattern = (pattern: Bytes, token: Bytes): boolean =>
  new RegExp(`^(?:${pattern})$`, "iu").test(textFromBytes(token));

export class SearchProgram {
  readonly counts: ProgramCounts = { queries: 0, hits: 0, aggregations: 0, restarts: 0, undone: 0, evicted: 0 };
  readonly #draw: ProgramDraw;
  readonly #bug: SearchBug;
  readonly #subject = new Subject();
  readonly #known = new Map<Bytes, Known>();
  /** In the order of their last change, since the last look. */
  readonly #changed = new Set<Bytes>();
  /** True if an index was searched within a unit, so the order is not known. */
  #isOrderUnknown = false;
  #step = 0;

  constructor(seed: number, bug: SearchBug = {}) {
    this.#draw = new ProgramDraw(seededRandom(seed));
    this.#bug = bug;
  }

  /** Throws an assertion error that names the rule. */
  run(): ProgramCounts {
    const draw = this.#draw;
    this.#subject.database.observers.observeAll((key) => {
      if (key === undefined) return;
      this.#changed.delete(key);
      this.#changed.add(key);
    });
    const isLarge = draw.chance(0.1);
    draw.keyCount = isLarge ? 150 : 15;
    this.#create("first");
    for (let left = isLarge ? 400 : draw.below(80); left > 0; left -= 1) this.#run([draw.document()]);
    this.#create("second");
    this.#look();
    for (; this.#step < STEPS; this.#step += 1) {
      this.#change();
      if (draw.chance(0.3)) this.#slices();
      this.#look();
      if (draw.chance(0.15)) this.#restart();
      if (draw.chance(0.1)) this.#reindex();
    }
    this.#restart();
    assert.equal(memoryFault(this.#subject.database.keyspace), undefined);
    return this.counts;
  }

  #run(unit: readonly Words[]): readonly Reply[] {
    return this.#subject.run(unit, this.#step);
  }

  #call(...words: Words): Reply {
    return plainReply(this.#run([words])[0] as Reply);
  }

  #create(name: Bytes): void {
    const draw = this.#draw;
    const drawn = draw.index(name);
    const end = this.#bug.scan?.(this.#subject.store);
    assert.equal(this.#call(...creationOf(drawn)), 1);
    this.#slices();
    end?.();
    const live = this.#subject.database.search.find(name)?.live;
    assert.ok(live !== undefined);
    this.#bug.index?.(live);
    const known: Known = { drawn, documents: new Map(), seen: drawn.skipsScan ? new Set() : undefined };
    this.#see();
    this.#known.set(name, known);
    draw.dataTypes = [...this.#known.values()].map((each) => each.drawn.definition.dataType);
    this.#scanned(known);
    this.#isOrderUnknown = true;
  }

  /** The order after a scan is that of the bytes of the keys. */
  #scanned(known: Known): void {
    const { definition } = known.drawn;
    const found = [...this.#documents(definition, known.seen)].sort(([one], [other]) => (one < other ? -1 : 1));
    known.documents = new Map(found.map(([key, document]) => [key, textOfDocument(document)]));
  }

  /** Forgets which keys have changed. */
  #see(): void {
    for (const { seen } of this.#known.values()) if (seen !== undefined) for (const key of this.#changed) seen.add(key);
    this.#changed.clear();
  }

  #slices(): void {
    const { search } = this.#subject.database;
    while (search.hasBacklog) search.runSlice();
  }

  #change(): void {
    const draw = this.#draw;
    if (draw.chance(0.5)) this.#subject.clock.wallMs += draw.below(1_500);
    const writes = (count: number): Words[] => Array.from({ length: 1 + draw.below(count) }, () => draw.write());
    const search = (): Words => ["SEARCH.COUNT", draw.of([...this.#known.keys(), "none"]), "{}"];
    const chosen = draw.below(20);
    if (chosen < 12) for (const write of writes(6)) this.#run([write]);
    else if (chosen < 14) this.#run([...writes(5), ["GET", "c:0"]]);
    else if (chosen < 16) {
      this.#run([...writes(3), search(), ...writes(3), search()]);
      this.#isOrderUnknown = true;
    } else if (chosen < 18) this.#undo([...writes(5), search(), ...writes(9)]);
    else if (chosen < 19) this.#evict();
    else if (draw.chance(0.2)) {
      this.#call("FLUSHALL");
      this.#known.clear();
      this.#create("second");
      for (let left = 8; left > 0; left -= 1) this.#run([draw.document()]);
    } else {
      const name = draw.of(["first", "second"]);
      if (this.#known.delete(name)) assert.equal(this.#call(draw.of(["DEL", "SEARCH.DROP"]), name), 1);
      this.#create(name);
    }
  }

  /** A unit that a limit stops. */
  #undo(unit: readonly Words[]): void {
    this.#isOrderUnknown = true;
    const isScript = this.#draw.chance(0.3);
    this.#subject.undoBytesMax = this.#draw.below(UNDO_BYTES_MAX);
    const replies = this.#run(isScript ? [endlessScript(unit)] : unit);
    this.#subject.undoBytesMax = Number.POSITIVE_INFINITY;
    if (isStopped(replies)) this.counts.undone += 1;
    this.#subject.database.scripts.cache.flush();
  }

  #evict(): void {
    const { keyspace } = this.#subject.database;
    const before = keyspace.evictedCount;
    this.#call("CONFIG", "SET", "maxmemory-policy", this.#draw.of(evictionPolicies).name);
    this.#call("CONFIG", "SET", "maxmemory", `${Math.round(keyspace.usedBytes * 0.95)}`);
    this.#call("PING");
    this.#call("CONFIG", "SET", "maxmemory", "0");
    this.counts.evicted += keyspace.evictedCount - before;
  }

  /** All rules for all indexes. */
  #look(): void {
    const looks = [...this.#known.values()].map((known) => ({ known, asked: this.#ask(known) }));
    for (const { known, asked } of looks) {
      const { name, definition } = known.drawn;
      const documents = this.#documents(definition, asked.seen);
      assert.deepEqual(asked.order.toSorted(), [...documents.keys()].sort(), `the documents of ${name}`);
      this.#checkOrder(known, asked.order, documents);
      this.#checkAnswers(known, asked, documents);
    }
    this.#see();
    this.#isOrderUnknown = false;
  }

  #checkOrder(known: Known, order: readonly Bytes[], documents: ReadonlyMap<Bytes, SearchDocument>): void {
    const texts = new Map(order.map((key) => [key, textOfDocument(documents.get(key) as SearchDocument)]));
    if (!this.#isOrderUnknown) {
      const kept = [...known.documents].filter(([key, text]) => texts.get(key) === text).map(([key]) => key);
      const isKept = new Set(kept);
      const others = [...this.#changed].filter((key) => texts.has(key) && !isKept.has(key));
      assert.deepEqual(order, [...kept, ...others], `the order of ${known.drawn.name}`);
    }
    known.documents = texts;
  }

  /** Sends searches of an index. */
  #ask({ drawn: { name, definition }, seen }: Known): Asked {
    const draw = this.#draw;
    const all = this.#call("SEARCH.QUERY", name, "{}", "NOCONTENT", "LIMIT", `${LIMIT_MAX}`);
    // Reading the keys later may remove an expired field, which is a change.
    const seenNow = seen && new Set([...seen, ...this.#changed]);
    const order = (all as Reply[][]).map(([key]) => key as Bytes);
    const queries = Array.from({ length: FILTERS_PER_LOOK }, (): AskedQuery => {
      const filter = draw.filterBytes(definition);
      const ranking = draw.ranking(definition);
      const limit = 1 + draw.below(draw.chance(0.5) ? 5 : 100);
      const offset = draw.chance(0.3) ? draw.below(10) : 0;
      const hasContent = draw.chance(0.3);
      const words = [
        ...["SEARCH.QUERY", name, filter, "LIMIT", `${limit}`, "OFFSET", `${offset}`],
        ...draw.rankingWords(definition, ranking),
        ...(hasContent ? [] : ["NOCONTENT"]),
      ];
      const hits = this.#call(...words);
      const count = this.#call("SEARCH.COUNT", name, filter);
      return { filter, ranking, limit, offset, hits, count, text: JSON.stringify(words) };
    });
    const filter = draw.filterBytes(definition);
    const [drawnRequest] = fc.sample(requests, { seed: draw.below(2 ** 31), numRuns: 1 });
    const request = inDays(drawnRequest as Nested) as Nested;
    const reply = this.#run([["SEARCH.AGGREGATE", name, filter, inSchema(request)]])[0] as Reply;
    return { order, seen: seenNow, queries, aggregation: { filter, request, reply } };
  }

  #checkAnswers(
    { drawn: { name, definition } }: Known,
    { order, queries, aggregation }: Asked,
    documents: ReadonlyMap<Bytes, SearchDocument>,
  ): void {
    const rows = order.map((key) => documents.get(key) as SearchDocument);
    const slow = new BruteForce({ definition, documents: rows, analyzerFor, matchesPattern });
    for (const query of queries) {
      const expected = slow.hits(query.filter, query.ranking);
      assert.equal(query.count, expected.length, `the count of ${query.text}`);
      this.#checkHits(
        query,
        expected.map(({ document, score }) => ({ key: order[document] as Bytes, place: document, score })),
      );
      this.counts.queries += 1;
    }
    const { filter, request, reply } = aggregation;
    const error = findError(reply);
    if (error !== undefined) {
      assert.match(error.text, /buckets/, inSchema(request));
      return;
    }
    const matched = [...slow.scores(filter).keys()].sort((one, other) => one - other);
    const expected = slowAnswer(
      matched.map((document) => rowOf(rows[document] as SearchDocument, definition)),
      request,
    );
    assert.deepEqual(
      sameZero(flat(reply)),
      sameZero(expected),
      `the aggregation of ${name}: ${filter} ${inSchema(request)}`,
    );
    this.counts.aggregations += 1;
  }

  /** Sums in another order may differ in the last bit, so near scores may change places. */
  #checkHits({ hits, ranking, limit, offset, text }: AskedQuery, expected: readonly SlowHit[]): void {
    assert.ok(Array.isArray(hits), `${text}: ${JSON.stringify(hits)}`);
    const page = expected.slice(offset, offset + limit);
    const byKey = new Map(expected.map((hit) => [hit.key, hit]));
    assert.equal(hits.length, page.length, `the length of ${text}`);
    const isDouble = ranking.orderBy !== undefined || ranking.scoreFunction?.scoreMode === "REPLACE";
    let before: { readonly place: number; readonly printed: number } | undefined;
    for (const [at, hit] of (hits as Reply[][]).entries()) {
      const [key, score, content] = hit as [Bytes, string, Reply | undefined];
      const printed = Number(score);
      const own = byKey.get(key);
      assert.ok(own !== undefined && isNear(own.score, printed), `the score of ${key}, ${own?.score}, in ${text}`);
      assert.ok(isNear(page[at]?.score as number, printed), `the score of hit ${at}, ${page[at]?.score}, in ${text}`);
      assert.equal(score, isDouble ? `${printed}` : slowFloat32Text(printed), text);
      if (ranking.orderBy !== undefined) assert.equal(key, page[at]?.key, `the order of ${text}`);
      else if (before !== undefined)
        assert.ok(
          before.printed > printed || (before.printed === printed && before.place < own.place),
          `the order of hits at ${at} of ${text}`,
        );
      before = { place: own.place, printed };
      if (content !== undefined) assert.deepEqual(content, this.#contentOf(key), `the content of ${key}`);
      this.counts.hits += 1;
    }
  }

  #contentOf(key: Bytes): Reply {
    const found = this.#keyOf(key);
    if (found.type === "hash") return [...found.fields].map(([field, value]) => [field, value]);
    return found.type === "other" ? null : [["$", found.text]];
  }

  #documents(definition: IndexDefinition, seen: ReadonlySet<Bytes> | undefined): Map<Bytes, SearchDocument> {
    const documents = new Map<Bytes, SearchDocument>();
    for (const key of this.#call("KEYS", "*") as Bytes[]) {
      if (!definition.prefixes.some((prefix) => key.startsWith(prefix)) || seen?.has(key) === false) continue;
      const document = documentOf(this.#keyOf(key), definition);
      if (document !== undefined) documents.set(key, document);
    }
    return documents;
  }

  #keyOf(key: Bytes): LiveKey {
    const type = (this.#call("TYPE", key) as { readonly text: string }).text;
    if (type === "string") return { type, text: this.#call("GET", key) as Bytes };
    if (type === "ReJSON-RL") return { type, text: this.#call("JSON.GET", key) as Bytes };
    if (type !== "hash") return { type: "other" };
    const words = flatPairs(this.#call("HGETALL", key));
    return { type, fields: new Map(words) };
  }

  #restart(): void {
    const { store, journal, clock } = this.#subject;
    for (const { drawn } of this.#known.values()) this.#call("SEARCH.COUNT", drawn.name, "{}");
    const again = restored(store.dump(), new VirtualClock(clock.wallMs));
    this.#bug.restored?.(again);
    const fromJournal = replayed(journal.frames, new VirtualClock(clock.wallMs));
    for (const { drawn, seen } of this.#known.values()) {
      // A start reads all keys.
      if (seen !== undefined) continue;
      const own = digestIn(store, drawn.name);
      assert.deepEqual(digestIn(again, drawn.name), own, `${drawn.name} after a restart from a snapshot`);
      assert.deepEqual(digestIn(fromJournal, drawn.name).lines, own.lines, `${drawn.name} after a restart`);
    }
    this.counts.restarts += 1;
  }

  #reindex(): void {
    for (const known of this.#known.values()) {
      const { name } = known.drawn;
      const before = digestIn(this.#subject.store, name);
      assert.equal(this.#call("SEARCH.REINDEX", name), 1);
      this.#slices();
      const after = digestIn(this.#subject.store, name);
      if (known.seen === undefined) assert.deepEqual(after.lines, before.lines, `${name} after SEARCH.REINDEX`);
      known.seen = undefined;
      this.#scanned(known);
      assert.deepEqual(after.keys, [...known.documents.keys()], `the order of ${name} after SEARCH.REINDEX`);
    }
  }
}

interface AskedQuery {
  readonly filter: Bytes;
  readonly ranking: Ranking;
  readonly limit: number;
  readonly offset: number;
  readonly hits: Reply;
  readonly count: Reply;
  readonly text: string;
}

interface Asked {
  /** The keys of all documents. */
  readonly order: readonly Bytes[];
  /** As `Known.seen`, at that time. */
  readonly seen: ReadonlySet<Bytes> | undefined;
  readonly queries: readonly AskedQuery[];
  readonly aggregation: { readonly filter: Bytes; readonly request: Nested; readonly reply: Reply };
}

interface SlowHit {
  readonly key: Bytes;
  /** Its place in the order of documents. */
  readonly place: number;
  readonly score: number;
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-5 * Math.max(1, Math.abs(one), Math.abs(other));
}

function digestIn(store: Store, name: Bytes): IndexDigest {
  const { search } = store.database("main");
  search.current;
  while (search.hasBacklog) search.runSlice();
  const live = search.find(name)?.live;
  assert.ok(live !== undefined, `${name} exists`);
  atOnce(live.prepare(() => false));
  return digestOf(live.index);
}

function flatPairs(reply: Reply): [Bytes, Bytes][] {
  const words = flat(reply) as Bytes[];
  return Array.from({ length: words.length / 2 }, (_, at) => [words[2 * at] as Bytes, words[2 * at + 1] as Bytes]);
}

/* Aggregations are drawn over the fields of `aggregated`; here these are the first fields of each type. */

const schemaNames: ReadonlyMap<string, string> = new Map(
  aggregated.fields.map(({ name, type }) => [name, `${type.toLowerCase()}0`]),
);

function rowOf(document: SearchDocument, { fields }: IndexDefinition): Row {
  return aggregated.fields.map(
    ({ name }) => document[fields.findIndex((field) => field.name === schemaNames.get(name))],
  );
}

function inSchema(request: Nested): Bytes {
  return JSON.stringify(request, (member, value: unknown) =>
    member === "field" && typeof value === "string" ? schemaNames.get(value) : value,
  );
}

const DAY_MS = 86_400_000;

/** The request with buckets of days in place of milliseconds. */
function inDays(request: unknown): unknown {
  return JSON.parse(JSON.stringify(request), (_name, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const parameters = value as { field?: unknown; interval?: number; fixedInterval?: string };
    if (parameters.field === "d" && parameters.interval !== undefined)
      return { ...parameters, interval: parameters.interval * DAY_MS };
    if (parameters.fixedInterval === undefined) return value;
    return { ...parameters, fixedInterval: `${Number.parseInt(parameters.fixedInterval, 10) * DAY_MS}ms` };
  });
}

function sameZero(value: Flat): Flat {
  if (Array.isArray(value)) return value.map(sameZero);
  return Object.is(value, -0) ? 0 : value;
}

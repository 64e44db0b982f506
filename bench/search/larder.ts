/** The search indexes of the store, through its commands, without a network and with a journal that stores nothing. */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { defaultUser } from "../../src/store/acl/built-in-users.ts";
import type { Database } from "../../src/store/database.ts";
import { findError, type Reply } from "../../src/store/reply/reply.ts";
import type { Caller } from "../../src/store/session/caller.ts";
import { Store } from "../../src/store/store.ts";
import { type BenchDocument, PRICE_BOUND, type QueryWords } from "./data-set.ts";
import { collectedBytes, type Figures, meanMs, processorMs, threadMs } from "./measure.ts";

const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };
const SCHEMA = ["title", "TEXT", "body", "TEXT", "price", "F64", "FAST", "zone", "KEYWORD"];
const WRITES_PER_PART = 50_000;
const WRITE_PARTS = 11;
/** Fewer than may wait for a search, so that none is indexed. */
const TRACKED_KEYS = 200;

function openStore(): Store {
  return new Store({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
  });
}

function call(database: Database, ...words: readonly string[]): Reply {
  const reply = database.execute(caller, words);
  const error = findError(reply);
  if (error !== undefined) throw new Error(error.text);
  return reply;
}

function create(database: Database, prefix = "d:"): void {
  call(database, "SEARCH.CREATE", "i", "ON", "HASH", "PREFIX", "1", prefix, "SCHEMA", ...SCHEMA);
}

function fill(database: Database, documents: readonly BenchDocument[]): void {
  for (const [id, { title, body, price, zone }] of documents.entries())
    call(database, "HSET", `d:${id}`, "title", title, "body", body, "price", `${price}`, "zone", zone);
}

/** Runs all slices; returns the processor time of the longest one in ms. */
function runSlices({ search }: Database): number {
  let longestMs = 0;
  search.current;
  while (search.hasBacklog) {
    const startMs = threadMs();
    search.runSlice();
    longestMs = Math.max(longestMs, threadMs() - startMs);
  }
  return longestMs;
}

export function measureLarder(documents: readonly BenchDocument[], words: QueryWords): Figures {
  const count = documents.length;
  // The first one warms the code up, too.
  const written = openStore().database("main");
  create(written);
  let startMs = processorMs();
  fill(written, documents);
  call(written, "SEARCH.COUNT", "i", "{}");
  const withIndexMs = processorMs() - startMs;

  const store = openStore();
  const database = store.database("main");
  startMs = processorMs();
  fill(database, documents);
  const writesMs = processorMs() - startMs;
  const plainBytes = collectedBytes();
  create(database);
  startMs = processorMs();
  const longestSliceMs = runSlices(database);
  const scanMs = processorMs() - startMs;
  const indexBytes = collectedBytes() - plainBytes;
  const figureBytes = Number(call(database, "MEMORY", "USAGE", "i"));

  return {
    "index, documents/s": (1_000 * count) / (withIndexMs - writesMs),
    "writes and index, documents/s": (1_000 * count) / withIndexMs,
    "scan, documents/s": (1_000 * count) / scanMs,
    "bytes for a document": indexBytes / count,
    "bytes for a document, as MEMORY USAGE says": figureBytes / count,
    "longest slice, ms": longestSliceMs,
    ...queries(database, words),
    ...restart(store),
    ...writes(),
  };
}

function queries(database: Database, { rare, middling, common, pair }: QueryWords): Figures {
  const filterOf = (body: unknown, rest: object = {}): string => JSON.stringify({ body, ...rest });
  const query = (filter: string) => () => call(database, "SEARCH.QUERY", "i", filter, "NOCONTENT");
  const aggregations = JSON.stringify({
    zones: { $terms: { field: "zone", size: 20 }, $aggs: { price: { $avg: { field: "price" } } } },
  });
  return {
    "rare word, ms": meanMs(query(filterOf({ $eq: rare }))),
    "middling word, ms": meanMs(query(filterOf({ $eq: middling }))),
    "common word, ms": meanMs(query(filterOf({ $eq: common }))),
    "COUNT of the common word, ms": meanMs(() => call(database, "SEARCH.COUNT", "i", filterOf({ $eq: common }))),
    "two words, AND, ms": meanMs(
      query(JSON.stringify({ $and: [{ body: { $eq: common } }, { body: { $eq: middling } }] })),
    ),
    "phrase of two, ms": meanMs(query(filterOf({ $phrase: pair }))),
    "$smart of a common word, ms": meanMs(query(filterOf(common))),
    "$smart of a rare word, ms": meanMs(query(filterOf(rare))),
    "$smart of two words, ms": meanMs(query(filterOf(pair))),
    "common word with a price below half, ms": meanMs(
      query(filterOf({ $eq: common }, { price: { $lt: PRICE_BOUND / 2 } })),
    ),
    "common word with a rare price, ms": meanMs(
      query(filterOf({ $eq: common }, { price: { $lt: PRICE_BOUND / 100 } })),
    ),
    "$terms and $avg over all, ms": meanMs(() => call(database, "SEARCH.AGGREGATE", "i", "{}", aggregations)),
    "common word by price, ms": meanMs(() =>
      call(database, "SEARCH.QUERY", "i", filterOf({ $eq: common }), "ORDERBY", "price", "NOCONTENT"),
    ),
  };
}

/** A start from a snapshot: the keys, and then the index. */
function restart(store: Store): Figures {
  const frames = Array.from(store.dump(), (frame) => Buffer.from(frame));
  const startMs = processorMs();
  const again = openStore();
  again.beginRecovery();
  for (const frame of frames) again.replay(frame, undefined);
  again.endRecovery();
  const replayedMs = processorMs();
  runSlices(again.database("main"));
  return { "start: keys, ms": replayedMs - startMs, "start: index, ms": processorMs() - replayedMs };
}

/** Writes of keys that no prefix matches, and of keys that wait for a search, beside those of a store without an index. */
function writes(): Figures {
  const plain = openStore().database("main");
  const unmatched = openStore().database("main");
  create(unmatched, "other:");
  const tracked = openStore().database("main");
  create(tracked);
  const part = (database: Database): number => {
    const startMs = processorMs();
    for (let i = 0; i < WRITES_PER_PART; i += 1)
      database.execute(caller, ["HSET", `d:${i % TRACKED_KEYS}`, "price", `${i}`]);
    return (1e6 * (processorMs() - startMs)) / WRITES_PER_PART;
  };
  const subjects = [plain, unmatched, tracked];
  const times = subjects.map((): number[] => []);
  for (const subject of subjects) part(subject);
  for (let round = 0; round < WRITE_PARTS; round += 1)
    for (const [at, subject] of subjects.entries()) (times[at] as number[]).push(part(subject));
  const [plainNs, unmatchedNs, trackedNs] = times.map(
    (list) => list.sort((one, other) => one - other)[WRITE_PARTS >> 1],
  );
  return {
    "write without an index, ns": plainNs,
    "write that no prefix matches, ns": unmatchedNs,
    "write of a document, ns": trackedNs,
  };
}

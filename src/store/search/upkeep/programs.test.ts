/**
 * Random programs of writes on documents of the three types, with expiries, renames,
 * transactions, stopped transactions, idle slices, evictions and restarts. After
 * each step the indexes agree with the keys; and scores and order are those of an
 * index that is built from the same documents in the same order.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Draw } from "../../../../test/differential/draw.ts";
import { assertIndexesAgree } from "../../../../test/harness/index-agreement.ts";
import { RecordingJournal, replayed, restored } from "../../../../test/harness/recording-journal.ts";
import { plainReply, startSession, testCaller } from "../../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import type { Database } from "../../database.ts";
import type { Reply } from "../../reply/reply.ts";
import type { Store } from "../../store.ts";
import { documentReader } from "../document.ts";
import { SearchIndex } from "../index/search-index.ts";
import { compileTokenPattern } from "../index/token-pattern.ts";
import { makeFilterParser } from "../query/filter-parser.ts";
import { findHits } from "../query/search.ts";
import { atOnce } from "../slices.ts";
import { analyzerFor } from "../text/analyzer.ts";

const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);
const STEPS = 40;

const creations: readonly string[] = [
  "SEARCH.CREATE hashes ON HASH PREFIX 2 a b SCHEMA t TEXT n I64 FAST k KEYWORD",
  "SEARCH.CREATE documents ON JSON PREFIX 1 a SCHEMA t TEXT o.t TEXT NOSTEM n F64 FAST k KEYWORD",
  "SEARCH.CREATE strings ON STRING PREFIX 2 b a SCHEMA t TEXT NOTOKENIZE n U64",
];
const names = ["hashes", "documents", "strings"];
const keys = ["a1", "a2", "a3", "b1", "b2", "c1"];
const words = ["run", "running", "reef", "coral", "The", "octopus"];
const filters = [
  '{"t":"running reef"}',
  '{"t":{"$eq":"coral"}}',
  '{"$or":[{"t":{"$fuzzy":"octopu"}},{"n":{"$gte":3}}]}',
  "{}",
];

const spend = (): boolean => false;
const parse = makeFilterParser({ analyzerFor, compilePattern: compileTokenPattern });

function text(draw: Draw): string {
  return Array.from({ length: draw.below(5) }, () => draw.pick(words)).join(" ");
}

function json(draw: Draw): string {
  const t = draw.oneIn(5) ? [text(draw), 5, text(draw)] : draw.oneIn(6) ? draw.below(9) : text(draw);
  return JSON.stringify({ t, n: draw.below(6), k: draw.pick(words), o: { t: text(draw) } });
}

function command(draw: Draw): readonly string[] {
  const key = draw.pick(keys);
  switch (draw.below(16)) {
    case 0:
    case 1:
      return ["HSET", key, "t", text(draw), "n", `${draw.below(6)}`];
    case 2:
      return ["HSET", key, "k", draw.pick(words), "other", "x"];
    case 3:
      return ["HDEL", key, draw.pick(["t", "n", "k"])];
    case 4:
    case 5:
      return ["JSON.SET", key, "$", json(draw)];
    case 6:
      return ["JSON.SET", key, "$.o.t", JSON.stringify(text(draw))];
    case 7:
    case 8:
      return ["SET", key, json(draw)];
    case 9:
      return ["SET", key, json(draw), "PX", `${1 + draw.below(50)}`];
    case 10:
      return ["HPEXPIRE", key, `${1 + draw.below(50)}`, "FIELDS", "1", draw.pick(["t", "n"])];
    case 11:
      return ["PEXPIRE", key, `${1 + draw.below(50)}`];
    case 12:
      return ["RENAME", key, draw.pick(keys)];
    case 13:
      return ["COPY", key, draw.pick(keys), "REPLACE"];
    case 14:
      return draw.oneIn(12) ? ["SEARCH.REINDEX", draw.pick(names)] : ["DEL", key];
    default:
      return ["SEARCH.COUNT", draw.pick(names), "{}"];
  }
}

/** The hits of each filter must be those of an index that only ever had the documents that there are now. */
function assertHitsOfFreshIndex({ keyspace, search }: Database, context: string): void {
  for (const name of names) {
    const { live } = search.find(name) ?? assert.fail();
    const { definition } = live.value;
    const read = documentReader(definition);
    const fresh = new SearchIndex(definition, analyzerFor, new Uint8Array(8));
    for (const key of live.keys()) {
      const value = keyspace.entries.get(key);
      const document = value === undefined ? undefined : read(value, keyspace.nowMs);
      assert.ok(document !== undefined, `${context}: ${name} has ${key}`);
      fresh.put(key, document);
    }
    for (const filter of filters) {
      const hitsOf = (index: SearchIndex): unknown => {
        const ranking = { orderBy: undefined, scoreFunction: undefined };
        const hits = atOnce(findHits(index, parse(filter, definition), { ranking, offset: 0, limit: 10, spend }));
        return hits.map(({ document, score }) => [index.keyOf(document), score]);
      };
      assert.deepEqual(hitsOf(live.index), hitsOf(fresh), `${context}: ${name} ${filter}`);
    }
  }
}

function ask(database: Database, ...line: readonly string[]): Promise<Reply> | Reply {
  const reply = database.command(testCaller, line);
  return reply instanceof Promise ? reply.then(plainReply) : plainReply(reply);
}

async function hitsOf(store: Store): Promise<unknown> {
  const database = store.database("main");
  const hits: unknown[] = [];
  for (const name of names)
    for (const filter of filters) hits.push(await ask(database, "SEARCH.QUERY", name, filter, "NOCONTENT"));
  return hits;
}

async function runProgram(seed: number): Promise<void> {
  const draw = new Draw(seed);
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const { database, clock, store } = session;
  for (const line of creations) session.run(line);
  for (let step = 0; step < STEPS; step += 1) {
    const context = `seed ${seed}, step ${step}`;
    switch (draw.below(6)) {
      case 0:
        clock.advance(draw.below(40));
        break;
      case 1:
        database.transaction(
          testCaller,
          Array.from({ length: 4 }, () => command(draw)),
        );
        break;
      case 2:
        database.search.runSlice();
        break;
      default:
        session.call(...command(draw));
    }
    if (draw.oneIn(4)) continue;
    session.run("PING");
    assertIndexesAgree(database, context);
    assertHitsOfFreshIndex(database, context);
  }
  // A snapshot has the order of the documents; the journal alone has them in the order of their keys.
  const later = new VirtualClock(clock.nowMs());
  const before = await hitsOf(store);
  assert.deepEqual(await hitsOf(restored(store.dump(), later)), before, `seed ${seed}: after a snapshot`);
  await store.snapshotBegan();
  const again = replayed(journal.frames, later);
  assert.deepEqual(await hitsOf(again), before, `seed ${seed}: after a replay`);
  assertIndexesAgree(again.database("main"), `seed ${seed}: after a replay`);
}

for (const seed of SEEDS) test(`indexes follow random writes, seed ${seed}`, () => runProgram(seed));

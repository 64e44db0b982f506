/**
 * Checks whether a restarted server holds what the ledger says, and finds it.
 *
 * (1) Every record of the clients, and some of the base, is fetched whole.
 * (2) A range lists exactly the existing records.
 * (3) A query with a record's own vector has that record as its best hit, with
 *     score 1; a query with a replaced or deleted vector has no such hit. A walk
 *     of the graph may miss few of them, and then an exact query finds it.
 * (4) Every hit of every query is an existing record with its right score, best
 *     first.
 */
import type { Random } from "../../../../src/kernel/random.ts";
import { type Endpoint, post } from "../post.ts";
import type { Entry, Found, Ledger } from "./ledger.ts";
import { isVectorOf, jsonOf, type Signs, scoreOf, signsOf } from "./signs.ts";
import { recordText } from "./writers.ts";

export interface Checked {
  readonly endpoint: Endpoint;
  readonly ledger: Ledger;
  /** The number of records loaded into the base. */
  readonly baseCount: number;
  readonly random: Random;
  readonly damages: string[];
}

interface Hit {
  readonly id: string;
  readonly score: number;
}

interface Question {
  readonly signs: Signs;
  /** The record with this vector; undefined if no record has it any more. */
  readonly id: string | undefined;
}

/** Records that exist from the beginning and never change: enough for a graph in the namespace. */
export const BASE_COUNT = 10_000;
const BASE_SEED = 2 ** 30;
const BASE_CLIENT = -1;
const BASE_BATCH = 1_000;
const FETCHED_MAX = 500;
const RANGE_LIMIT = 1_000;
const QUESTIONS = 24;
const HITS = 5;
const BRUTE_QUESTIONS = 40;
const BRUTE_HITS = 10;
/** The least share of the best ten that the graph must find. */
const RECALL_MIN = 0.95;
/** At the end so many records are looked up by their own vectors. */
const OWN_QUESTIONS = 1_000;
const OWN_BATCH = 100;
/** The share of them that walks may miss: more is a graph to repair (`vector/graph/graph-maintenance.ts`). */
const OWN_MISSED_MAX = 0.01;

const baseSigns = Array.from({ length: BASE_COUNT }, (_, number) => signsOf(BASE_SEED + number));

export async function loadBase(endpoint: Endpoint, baseCount: number): Promise<void> {
  for (let start = 0; start < baseCount; start += BASE_BATCH) {
    const numbers = Array.from({ length: Math.min(BASE_BATCH, baseCount - start) }, (_, i) => start + i);
    const records = numbers.map((number) =>
      recordText({ client: BASE_CLIENT, id: baseId(number) }, { seed: BASE_SEED + number, version: 0 }),
    );
    await post(endpoint, { path: "/upsert", text: `[${records.join()}]` });
  }
}

function baseId(number: number): string {
  return `b-${number}`;
}

/** What each round checks. */
export async function checkRound(checked: Checked): Promise<void> {
  const { ledger, damages } = checked;
  const byNamespace = Map.groupBy(ledger.entries, ({ namespace }) => namespace);
  await Promise.all([...byNamespace].map(([namespace, entries]) => checkFetch(checked, namespace, entries)));
  damages.push(...ledger.takeHalves());
  await Promise.all(
    [...byNamespace].map(async ([namespace, entries]) => {
      await checkRange(checked, namespace, entries);
      await checkQueries(checked, namespace, entries);
    }),
  );
}

async function checkFetch(
  { endpoint, ledger, damages }: Checked,
  namespace: string,
  entries: readonly Entry[],
): Promise<void> {
  for (let start = 0; start < entries.length; start += FETCHED_MAX) {
    const asked = entries.slice(start, start + FETCHED_MAX);
    const body = { ids: asked.map(({ id }) => id), includeVectors: true, includeMetadata: true, includeData: true };
    const found = (await ask(endpoint, "fetch", { namespace, body })) as readonly (Found | null)[];
    for (const [i, entry] of asked.entries()) ledger.check(entry, found[i] ?? undefined, damages);
  }
}

/** By prefix in the large namespace, which otherwise holds the base. */
async function checkRange({ endpoint, damages }: Checked, namespace: string, entries: readonly Entry[]): Promise<void> {
  const ids = (await rangeOf(endpoint, { namespace, prefix: "c", includeVectors: false })).map(({ id }) => id);
  const wanted = entries.filter(({ kept }) => kept).map(({ id }) => id);
  if (new Set(ids).size !== ids.length) damages.push(`the range of "${namespace}" names a record twice`);
  const differing = [...idsOf(ids, wanted), ...idsOf(wanted, ids)];
  if (differing.length > 0) damages.push(`the range of "${namespace}" differs in ${differing.join()}`);
}

/** Those that are not among the others. */
function idsOf(ids: readonly string[], others: readonly string[]): readonly string[] {
  const there = new Set(others);
  return ids.filter((id) => !there.has(id));
}

async function checkQueries(checked: Checked, namespace: string, entries: readonly Entry[]): Promise<void> {
  const { random, baseCount } = checked;
  const present = presentIn(checked, namespace, entries);
  const questions = entries.flatMap(({ id, kept, formerSeed }): readonly Question[] => [
    ...(kept === undefined ? [] : [{ signs: signsOf(kept.seed), id }]),
    ...(formerSeed === undefined ? [] : [{ signs: signsOf(formerSeed), id: undefined }]),
  ]);
  if (namespace === "") {
    for (let i = 0; i < HITS; i += 1) {
      const number = random.below(baseCount);
      questions.push({ signs: signsOf(BASE_SEED + number), id: baseId(number) });
    }
  }
  await checkOwnVectors(checked, { namespace, asked: some(questions, QUESTIONS, random), present });
}

/** Returns how many of the records only an exact query finds. */
async function checkOwnVectors(
  checked: Checked,
  { namespace, asked, present }: { namespace: string; asked: readonly Question[]; present: ReadonlyMap<string, Signs> },
): Promise<number> {
  const check = async (questions: readonly Question[], isExact: boolean): Promise<readonly Question[]> => {
    const answers = await query(checked, { namespace, questions, topK: HITS, filter: "", isExact });
    return questions.filter((question, i) => {
      const hits = answers[i] ?? [];
      checkHits(checked, { namespace, hits, present, signs: question.signs });
      const [best] = hits;
      const isRight = question.id === undefined ? best?.score !== 1 : best?.id === question.id && best.score === 1;
      // A hit that should not be there is no miss of a walk.
      if (!isRight && (isExact || question.id === undefined))
        checked.damages.push(
          `${namespace}/${question.id ?? "no record"}: its own vector finds ${best?.id} with score ${best?.score}`,
        );
      return !isRight;
    });
  };
  const missed = await check(asked, false);
  await check(missed, true);
  return missed.length;
}

function checkHits(
  { damages }: Checked,
  {
    namespace,
    hits,
    present,
    signs,
  }: {
    namespace: string;
    hits: readonly Hit[];
    present: ReadonlyMap<string, Signs>;
    signs: Signs;
  },
): void {
  for (const [i, { id, score }] of hits.entries()) {
    const other = present.get(id);
    if (other === undefined) damages.push(`a query of "${namespace}" finds ${id}, which is not there`);
    else if (score !== scoreOf(signs, other))
      damages.push(`a query of "${namespace}" finds ${id} with score ${score} instead of ${scoreOf(signs, other)}`);
    if (score > (hits[i - 1]?.score ?? 1)) damages.push(`a query of "${namespace}" has ${id} in the wrong place`);
  }
  const wantedCount = Math.min(HITS, present.size);
  if (hits.length < wantedCount) damages.push(`a query of "${namespace}" finds ${hits.length} of ${wantedCount}`);
}

/**
 * The checks of the last round: everything, vector by vector, and queries compared with it. Returns the share of the
 * best hits that the graph found.
 */
export async function checkEverything(checked: Checked): Promise<number> {
  const { endpoint, ledger, random, damages } = checked;
  let recall = 1;
  for (const [namespace, entries] of Map.groupBy(ledger.entries, (entry) => entry.namespace)) {
    const present = presentIn(checked, namespace, entries);
    const listed = await rangeOf(endpoint, { namespace, prefix: "", includeVectors: true });
    if (listed.length !== present.size)
      damages.push(`"${namespace}" lists ${listed.length} records, and has ${present.size}`);
    for (const { id, vector = [] } of listed) {
      const signs = present.get(id);
      if (signs === undefined || !isVectorOf(vector, signs))
        damages.push(`"${namespace}" lists ${id} with another vector`);
    }
    const own = some(
      [...present].map(([id, signs]) => ({ signs, id })),
      OWN_QUESTIONS,
      random,
    );
    let missed = 0;
    for (let start = 0; start < own.length; start += OWN_BATCH) {
      const asked = own.slice(start, start + OWN_BATCH);
      missed += await checkOwnVectors(checked, { namespace, asked, present });
    }
    if (missed > OWN_MISSED_MAX * own.length)
      damages.push(`${missed} of ${own.length} records of "${namespace}" are not found by their own vectors`);
    const signs = some([...present.values()], BRUTE_QUESTIONS, random);
    const questions = signs.map((each) => ({ signs: withOneChanged(each, random), id: undefined }));
    const near = await query(checked, { namespace, questions, topK: BRUTE_HITS, filter: "" });
    recall = Math.min(recall, shareFound(questions, near, present));
    if (recall < RECALL_MIN) damages.push(`queries of "${namespace}" find ${recall} of the best hits`);
    // So few records pass that the graph is not used: then the answer is exact, also in its order.
    const clients = new Map(entries.filter(({ kept }) => kept).map(({ id }) => [id, present.get(id) as Signs]));
    const exact = await query(checked, { namespace, questions, topK: BRUTE_HITS, filter: "client >= 0" });
    for (const [i, question] of questions.entries()) {
      const best = bestOf(question.signs, clients, listed);
      if (JSON.stringify(exact[i]?.map(({ id }) => id)) !== JSON.stringify(best))
        damages.push(`a query of the clients' records in "${namespace}" differs from brute force`);
    }
  }
  return recall;
}

function presentIn({ baseCount }: Checked, namespace: string, entries: readonly Entry[]): ReadonlyMap<string, Signs> {
  const present = new Map<string, Signs>();
  if (namespace === "")
    for (const [number, signs] of baseSigns.slice(0, baseCount).entries()) present.set(baseId(number), signs);
  for (const { id, kept } of entries) if (kept !== undefined) present.set(id, signsOf(kept.seed));
  return present;
}

/** Ids of the best hits; of equal scores the one listed first. */
function bestOf(signs: Signs, rows: ReadonlyMap<string, Signs>, listed: readonly { readonly id: string }[]): string[] {
  return listed
    .flatMap(({ id }) => {
      const row = rows.get(id);
      return row === undefined ? [] : [{ id, score: scoreOf(signs, row) }];
    })
    .toSorted((one, other) => other.score - one.score)
    .slice(0, BRUTE_HITS)
    .map(({ id }) => id);
}

/** Compares scores: of equal ones any is as good. */
function shareFound(
  questions: readonly Question[],
  answers: readonly (readonly Hit[])[],
  present: ReadonlyMap<string, Signs>,
): number {
  let found = 0;
  let wanted = 0;
  for (const [i, { signs }] of questions.entries()) {
    const scores = Float64Array.from(present.values(), (row) => scoreOf(signs, row)).sort();
    const best = scores.subarray(-BRUTE_HITS);
    wanted += best.length;
    found += (answers[i] ?? []).filter(({ score }) => score >= (best[0] ?? 0)).length;
  }
  return wanted === 0 ? 1 : found / wanted;
}

function withOneChanged(signs: Signs, random: Random): Signs {
  const changed = signs.slice();
  const byte = random.below(changed.length);
  changed[byte] = (changed[byte] as number) ^ (1 << random.below(8));
  return changed;
}

async function query(
  { endpoint }: Checked,
  {
    namespace,
    questions,
    topK,
    filter,
    isExact = false,
  }: {
    namespace: string;
    questions: readonly Question[];
    topK: number;
    filter: string;
    isExact?: boolean;
  },
): Promise<readonly (readonly Hit[])[]> {
  if (questions.length === 0) return [];
  const options = JSON.stringify({ topK, filter, ...(isExact && { exact: true }) }).slice(1);
  const text = questions.map(({ signs }) => `{"vector":${jsonOf(signs)},${options}`).join();
  const answer = (await ask(endpoint, "query", { namespace, text: `[${text}]` })) as readonly unknown[];
  // The hits of a single query are a list of their own (B2.result).
  const answers = (questions.length === 1 ? [answer] : answer) as readonly (readonly Hit[])[];
  // A float32 is printed with as few digits as distinguish it from the others.
  return answers.map((hits) => hits.map(({ id, score }) => ({ id, score: Math.fround(score) })));
}

async function rangeOf(
  endpoint: Endpoint,
  { namespace, prefix, includeVectors }: { namespace: string; prefix: string; includeVectors: boolean },
): Promise<readonly { readonly id: string; readonly vector?: readonly number[] }[]> {
  const all: { readonly id: string; readonly vector?: readonly number[] }[] = [];
  let cursor = "0";
  while (cursor !== "") {
    const body = { cursor, limit: RANGE_LIMIT, includeVectors, ...(prefix !== "" && { prefix }) };
    const page = (await ask(endpoint, "range", { namespace, body })) as { nextCursor: string; vectors: typeof all };
    all.push(...page.vectors);
    cursor = page.nextCursor;
  }
  return all;
}

async function ask(
  endpoint: Endpoint,
  command: string,
  { namespace, body, text = JSON.stringify(body) }: { namespace: string; body?: object; text?: string },
): Promise<unknown> {
  const path = namespace === "" ? `/${command}` : `/${command}/${encodeURIComponent(namespace)}`;
  return ((await post(endpoint, { path, text })) as { result: unknown }).result;
}

function some<Item>(items: readonly Item[], countMax: number, random: Random): readonly Item[] {
  if (items.length <= countMax) return items;
  return Array.from({ length: countMax }, () => items[random.below(items.length)] as Item);
}

/**
 * JSON commands by their published rules: random ones on random
 * documents have the replies and results of a plain model of each. The model has
 * values of JavaScript: an array command acts on an array, JSON.MERGE is
 * the pseudo-code of RFC 7396, a path is read plainly.
 *
 * Changes are compared if no match of a path is inside
 * another; for the others, `json-documents.test.ts` tests that the result is the same
 * after a replay.
 *
 * Run again:  LARDER_JSON_SEED=… npm run t -- test/fuzz/json-commands.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { ok, type Reply } from "../../src/store/reply/reply.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { type Session, startSession } from "../harness/store-harness.ts";
import {
  drawSegments,
  drawValue,
  type Found,
  follow,
  jsonOf,
  latin,
  type Plain,
  pick,
  type Segment,
  type Step,
  sameAs,
  spellSegment,
} from "./plain-json.ts";

const seed = seedFrom("LARDER_JSON_SEED");

/** A longer document is discarded, so that none grows without bound. */
const TEXT_LENGTH_MAX = 10_000;
const COMMANDS_PER_DOCUMENT = 40;

/** The effect of a command on one match: its part of the reply, and the new value. */
interface Effect {
  readonly reply: Reply;
  readonly value?: Plain;
}

/** One call of a command: the words after the path, and its effect on a match; undefined for another type. */
interface Attempt {
  readonly words: readonly string[];
  readonly at: (value: Plain) => Effect | undefined;
  /** Combines the replies of all matches into one; by default they are a list. */
  readonly answer?: (replies: readonly Reply[], values: readonly (Plain | undefined)[]) => Reply;
  /** True if one match is enough to refuse the command. */
  readonly isRefusedAt?: (value: Plain) => boolean;
}

const drawAttempt: Readonly<Record<string, (random: Random, found: readonly Found[]) => Attempt>> = {
  "JSON.TYPE": () => ({ words: [], at: (value) => ({ reply: typeOf(value) }) }),
  "JSON.STRLEN": () => ({ words: [], at: (value) => ifText(value, (text) => ({ reply: byteLength(text) })) }),
  "JSON.ARRLEN": () => ({ words: [], at: (value) => ifArray(value, ({ length }) => ({ reply: length })) }),
  "JSON.OBJLEN": () => ({ words: [], at: (value) => ifMap(value, ({ size }) => ({ reply: size })) }),
  "JSON.OBJKEYS": () => ({
    words: [],
    at: (value) => ifMap(value, (map) => ({ reply: [...map.keys()].map((name) => latin(name)) })),
  }),
  "JSON.GET": () => ({
    words: [],
    at: (value) => ({ reply: latin(jsonOf(value)) }),
    answer: (replies) => `[${replies.join()}]`,
  }),
  "JSON.TOGGLE": () => ({
    words: [],
    at: (value) => (typeof value === "boolean" ? { reply: Number(!value), value: !value } : undefined),
  }),
  "JSON.CLEAR": () => ({
    words: [],
    at: (value) => {
      const empty = emptyOf(value);
      return empty === undefined || sameAs(empty, value) ? undefined : { reply: 1, value: empty };
    },
    answer: (replies) => replies.filter((reply) => reply === 1).length,
  }),
  "JSON.STRAPPEND": (random) => {
    const suffix = pick(random, ["", "a", "é😀", '"\\']);
    return {
      words: [spelled(random, suffix)],
      at: (value) => ifText(value, (text) => ({ reply: byteLength(text + suffix), value: text + suffix })),
    };
  },
  "JSON.NUMINCRBY": (random) => {
    const addend = random.below(5) - 2;
    return {
      words: [`${addend}`],
      at: (value) => ifNumber(value, (number) => ({ reply: `${number + addend}`, value: number + addend })),
      answer: (replies) => `[${replies.map((reply) => reply ?? "null").join()}]`,
    };
  },
  "JSON.NUMMULTBY": () => ({
    words: ["-1"],
    at: (value) => ifNumber(value, (number) => ({ reply: `${0 - number}`, value: 0 - number })),
    answer: (replies) => `[${replies.map((reply) => reply ?? "null").join()}]`,
  }),
  "JSON.ARRAPPEND": (random) => {
    const added = drawValues(random);
    return {
      words: added.map((value) => spelled(random, value)),
      at: (value) => ifArray(value, (array) => ({ reply: array.length + added.length, value: [...array, ...added] })),
    };
  },
  "JSON.ARRINSERT": (random) => {
    const index = random.below(8) - 4;
    const added = drawValues(random);
    return {
      words: [`${index}`, ...added.map((value) => spelled(random, value))],
      at: (value) =>
        ifArray(value, (array) => ({ reply: array.length + added.length, value: array.toSpliced(index, 0, ...added) })),
      isRefusedAt: (value) => Array.isArray(value) && (index > value.length || -index > value.length),
    };
  },
  "JSON.ARRPOP": (random) => {
    const index = random.below(8) - 4;
    return {
      words: [`${index}`],
      at: (value) =>
        ifArray(value, (array) => {
          const place = within(index < 0 ? array.length + index : index, 0, array.length - 1);
          const element = array[place];
          if (element === undefined) return { reply: null };
          return { reply: latin(jsonOf(element)), value: array.toSpliced(place, 1) };
        }),
    };
  },
  "JSON.ARRTRIM": (random) => {
    const [start, stop] = [random.below(9) - 4, random.below(9) - 4];
    return {
      words: [`${start}`, `${stop}`],
      at: (value) =>
        ifArray(value, (array) => {
          const kept = array.filter((_, i) => i >= counted(start, array.length) && i <= counted(stop, array.length));
          return { reply: kept.length, value: kept };
        }),
    };
  },
  "JSON.ARRINDEX": (random, found) => {
    const present = found.flatMap(({ value }) => (Array.isArray(value) ? value : []));
    const wanted = pick(random, [...present, drawValue(random, 1)]);
    const [start, stop] = [random.below(9) - 4, random.below(3) === 0 ? 0 : random.below(9) - 4];
    return {
      words: [spelled(random, wanted), `${start}`, `${stop}`],
      at: (value) =>
        ifArray(value, (array) => {
          const from = within(counted(start, array.length), 0, Math.max(0, array.length - 1));
          const to = stop === 0 ? array.length : counted(stop, array.length);
          return { reply: array.findIndex((element, i) => i >= from && i < to && sameAs(element, wanted)) };
        }),
    };
  },
};

test("random JSON commands have the replies and results of a plain model of each", (context) => {
  const random = seededRandom(seed);
  const session = startSession();
  const worked = new Map<string, number>();
  let document: Plain | undefined;
  const count = repeat((number) => {
    if (number % COMMANDS_PER_DOCUMENT === 0 || jsonOf(document ?? null).length > TEXT_LENGTH_MAX) document = undefined;
    if (document === undefined) {
      document = drawValue(random, 4);
      assert.deepEqual(session.call("JSON.SET", "key", pick(random, ["$", "."]), spelled(random, document)), ok);
    }
    const segments = drawSegments(random, 1);
    const path = latin(`$${segments.map((segment) => spellSegment(random, segment)).join("")}`);
    const found = follow([{ value: document, at: [] }], segments, document);
    const name = pick(random, ["JSON.SET", "JSON.SET", "JSON.MERGE", "JSON.DEL", ...Object.keys(drawAttempt)]);
    const step = { random, session, document, path, segments, found, name };
    const after = name === "JSON.DEL" ? remove(step) : name in drawAttempt ? changeOrAsk(step) : assign(step);
    if (after === document && found.length === 0) return;
    document = after;
    worked.set(name, (worked.get(name) ?? 0) + 1);
    const left = session.call("JSON.GET", "key");
    assert.deepEqual(
      left,
      document === undefined ? null : latin(jsonOf(document)),
      `SEED=${seed} after ${name} ${path}`,
    );
  });
  context.diagnostic(`SEED=${seed}: ${count} commands`);
  if (count > 20_000) assert.equal(worked.size, Object.keys(drawAttempt).length + 3, "every command has had a match");
});

interface Try {
  readonly random: Random;
  readonly session: Session;
  readonly document: Plain;
  readonly path: string;
  readonly segments: readonly Segment[];
  readonly found: readonly Found[];
  readonly name: string;
}

/** A command that changes each match. Returns the document afterwards. */
function changeOrAsk({ random, session, document, path, found, name }: Try): Plain {
  const attempt = (drawAttempt[name] as (random: Random, found: readonly Found[]) => Attempt)(random, found);
  if (!areApart(found)) return document;
  const where = `SEED=${seed} ${name} ${path} ${attempt.words.join(" ")} in ${jsonOf(document)}`;
  const reply = session.call(name, "key", path, ...attempt.words);
  if (found.some(({ value }) => attempt.isRefusedAt?.(value))) {
    assert.ok(isError(reply), where);
    return document;
  }
  const effects = found.map(({ value }) => attempt.at(value));
  const replies = effects.map((effect) => effect?.reply ?? null);
  assert.deepEqual(
    reply,
    attempt.answer?.(
      replies,
      effects.map((effect) => effect?.value),
    ) ?? replies,
    where,
  );
  return found.reduce<Plain>((changed, { at }, i) => {
    const value = effects[i]?.value;
    return value === undefined ? changed : withPlace(changed, at, value);
  }, document);
}

/** JSON.SET and JSON.MERGE. */
function assign({ random, session, document, path, segments, found, name }: Try): Plain {
  const value = name === "JSON.MERGE" ? (drawPatch(random) ?? "") : drawValue(random, 2);
  const condition = name === "JSON.SET" ? pick(random, [undefined, undefined, "NX", "XX"]) : undefined;
  if (!areApart(found)) return document;
  const words = [name, "key", path, spelled(random, value), ...(condition === undefined ? [] : [condition])];
  const where = `SEED=${seed} ${words.join(" ")} in ${jsonOf(document)}`;
  const made = (old: Plain | undefined): Plain => (name === "JSON.MERGE" ? mergePatch(old, value) : value);
  const reply = session.call(...words);
  if (found.length > 0) {
    assert.deepEqual(reply, condition === "NX" ? null : ok, where);
    if (condition === "NX") return document;
    const after = found.reduce<Plain>((changed, place) => withPlace(changed, place.at, made(place.value)), document);
    // Applying a patch again changes nothing.
    if (name === "JSON.MERGE" && segments.every(isSingular)) assert.deepEqual(session.call(...words), ok, where);
    return after;
  }
  const last = segments.at(-1)?.selectors[0];
  if (!segments.every(isSingular) || typeof last !== "object") {
    assert.ok(isError(reply), where);
    return document;
  }
  const [parent] = follow([{ value: document, at: [] }], segments.slice(0, -1), document);
  if (parent !== undefined && !("name" in last)) {
    assert.ok(isError(reply), where);
    return document;
  }
  const hasPlace = parent !== undefined && "name" in last && parent.value instanceof Map;
  if (hasPlace && condition !== "XX") {
    assert.deepEqual(reply, ok, where);
    return withPlace(document, [...parent.at, last.name], made(undefined));
  }
  // JSON.SET refuses a value without a place.
  if (name === "JSON.SET" && condition !== "XX") assert.ok(isError(reply), where);
  else assert.deepEqual(reply, null, where);
  return document;
}

/** JSON.DEL. Matches removed with another one are not counted. */
function remove({ session, document, path, found, name }: Try): Plain | undefined {
  const reply = session.call(name, "key", path);
  const gone = new Set(found.map(({ at }) => JSON.stringify(at)));
  const goesWithAnother = (at: readonly Step[]): boolean =>
    at.some((_, length) => gone.has(JSON.stringify(at.slice(0, length))));
  const counted = [...gone].filter((text) => !goesWithAnother(JSON.parse(text)));
  assert.deepEqual(reply, counted.length, `SEED=${seed} ${name} ${path} in ${jsonOf(document)}`);
  return gone.has("[]") ? undefined : without(document, [], gone);
}

function without(value: Plain, at: readonly Step[], gone: ReadonlySet<string>): Plain {
  const isLeft = (step: Step): boolean => !gone.has(JSON.stringify([...at, step]));
  if (Array.isArray(value))
    return value.flatMap((element, i) => (isLeft(i) ? [without(element, [...at, i], gone)] : []));
  if (!(value instanceof Map)) return value;
  return new Map(
    [...value].flatMap(([name, member]) => (isLeft(name) ? [[name, without(member, [...at, name], gone)]] : [])),
  );
}

/** RFC 7396, section 2, word by word. */
function mergePatch(target: Plain | undefined, patch: Plain): Plain {
  if (!(patch instanceof Map)) return patch;
  const merged = new Map(target instanceof Map ? target : []);
  for (const [name, value] of patch) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return merged;
}

/** The document with another value at a path, or with a new member. */
function withPlace(document: Plain, [step, ...rest]: readonly Step[], value: Plain): Plain {
  if (step === undefined) return value;
  if (Array.isArray(document))
    return document.map((element, i) => (i === step ? withPlace(element, rest, value) : element));
  assert.ok(document instanceof Map && typeof step === "string");
  return new Map(document).set(step, withPlace(document.get(step) ?? null, rest, value));
}

/** True if no match occurs twice, and none is inside another. */
function areApart(found: readonly Found[]): boolean {
  const texts = found.map(({ at }) => `${at.map((step) => JSON.stringify(step)).join()},`.replace(/^,$/, ""));
  return texts.every((one, i) => texts.every((other, j) => i === j || !other.startsWith(one)));
}

function isSingular({ below, selectors: [first, second] }: Segment): boolean {
  return !below && second === undefined && typeof first === "object" && ("name" in first || "index" in first);
}

function isError(reply: Reply): boolean {
  return typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "error";
}

function typeOf(value: Plain): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof Map) return "object";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** The result of JSON.CLEAR for a value; undefined if it does not change it. */
function emptyOf(value: Plain): Plain | undefined {
  if (typeof value === "number") return 0;
  if (Array.isArray(value)) return [];
  return value instanceof Map ? new Map() : undefined;
}

function ifText<Result>(value: Plain, then: (text: string) => Result): Result | undefined {
  return typeof value === "string" ? then(value) : undefined;
}

function ifNumber<Result>(value: Plain, then: (number: number) => Result): Result | undefined {
  return typeof value === "number" ? then(value) : undefined;
}

function ifArray<Result>(value: Plain, then: (array: readonly Plain[]) => Result): Result | undefined {
  return Array.isArray(value) ? then(value) : undefined;
}

function ifMap<Result>(value: Plain, then: (map: ReadonlyMap<string, Plain>) => Result): Result | undefined {
  return value instanceof Map ? then(value) : undefined;
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

function within(number: number, least: number, most: number): number {
  return Math.max(least, Math.min(number, most));
}

/** An index from the start; from the end if negative. */
function counted(index: number, length: number): number {
  return index < 0 ? length + index : index;
}

function drawValues(random: Random): readonly Plain[] {
  return Array.from({ length: 1 + random.below(3) }, () => drawValue(random, 1));
}

/** A patch: mostly an object, sometimes with a null. */
function drawPatch(random: Random): Plain {
  return random.below(5) === 0 ? drawValue(random, 1) : new Map(drawMembers(random));
}

function drawMembers(random: Random): readonly (readonly [string, Plain])[] {
  return Array.from({ length: random.below(4) }, () => {
    const value = random.below(3) === 0 ? null : random.below(3) === 0 ? drawPatch(random) : drawValue(random, 1);
    return [pick(random, ["a", "b", "c", "é", "", "__proto__"]), value] as const;
  });
}

/** One of the many JSON texts of a value, in UTF-8: with optional blanks, and optional escapes of letters. */
function spelled(random: Random, value: Plain): string {
  const blank = (): string => pick(random, ["", "", "", " ", "\n\t", "\r"]);
  const spell = (each: Plain): string => {
    if (Array.isArray(each)) return `[${each.map((element) => blank() + spell(element) + blank()).join()}${blank()}]`;
    if (each instanceof Map)
      return `{${[...each].map(([name, member]) => `${blank()}${spell(name)}${blank()}:${blank()}${spell(member)}`).join()}${blank()}}`;
    if (typeof each !== "string" || random.below(3) > 0) return JSON.stringify(each);
    return `"${Array.from({ length: each.length }, (_, i) => `\\u${each.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`;
  };
  return latin(blank() + spell(value) + blank());
}

/** Runs until the allowance of the suite is used up, and returns the number of runs. */
function repeat(once: (number: number) => void): number {
  const allowance = allowanceOf("json-commands");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count : Number.POSITIVE_INFINITY;
  let count = 0;
  for (; count < countMax && systemClock.monotonicMs() < endMs; count += 1) once(count);
  return count;
}

/**
 * BITOP: combines strings bit by bit. A shorter string, and a missing one, is
 * padded with zeros. DIFF, DIFF1, ANDOR and ONE are from Redis 8.2.
 *
 * A key named many times is combined only as often as that can matter, so the
 * size of the database bounds the work, however long the command is.
 */
import type { Call } from "../command.ts";
import { bitopNeedsOneKey, bitopNeedsTwoKeys, syntaxError } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { putContent } from "../mutations/string.ts";
import { events } from "../observe/keyspace-events.ts";
import { type Reply, zero } from "../reply/reply.ts";
import { and, andNot, type Combine, invert, or, xor } from "../structures/bits.ts";
import { type StringValue, viewOf } from "../values/string.ts";

type Sources = readonly (StringValue | undefined)[];

interface Operation {
  readonly name: string;
  readonly keyCountMin: number;
  readonly keyCountMax: number;
  /** Overwrites all of `result`, which has the length of the longest source. */
  readonly run: (result: Buffer, sources: Sources) => void;
}

const MANY = Number.POSITIVE_INFINITY;

const operations: readonly Operation[] = [
  {
    name: "AND",
    keyCountMin: 1,
    keyCountMax: MANY,
    run: (result, sources) => fold(result, differentOnes(sources), and),
  },
  { name: "OR", keyCountMin: 1, keyCountMax: MANY, run: (result, sources) => fold(result, differentOnes(sources), or) },
  { name: "XOR", keyCountMin: 1, keyCountMax: MANY, run: (result, sources) => fold(result, oddOnes(sources), xor) },
  {
    name: "NOT",
    keyCountMin: 1,
    keyCountMax: 1,
    run: (result, sources) => {
      fold(result, sources, or);
      invert(result);
    },
  },
  {
    // Bits of the first source that no other one has.
    name: "DIFF",
    keyCountMin: 2,
    keyCountMax: MANY,
    run: (result, [first, ...others]) => {
      fold(result, [first], or);
      for (const other of differentOnes(others)) if (other !== undefined) andNot(result, result, viewOf(other));
    },
  },
  {
    // Bits of any other source that the first does not have.
    name: "DIFF1",
    keyCountMin: 2,
    keyCountMax: MANY,
    run: (result, [first, ...others]) => {
      fold(result, differentOnes(others), or);
      if (first !== undefined) andNot(result, result, viewOf(first));
    },
  },
  {
    // Bits of the first source that any other one has.
    name: "ANDOR",
    keyCountMin: 2,
    keyCountMax: MANY,
    run: (result, [first, ...others]) => {
      fold(result, differentOnes(others), or);
      if (first === undefined) result.fill(0);
      else and(result, result, viewOf(first));
    },
  },
  {
    // Bits that exactly one source has.
    name: "ONE",
    keyCountMin: 1,
    keyCountMax: MANY,
    run: (result, sources) => {
      const several = Buffer.alloc(result.length);
      result.fill(0);
      for (const source of atMostTwice(sources)) {
        if (source === undefined) continue;
        const view = viewOf(source);
        const both = Buffer.from(view);
        and(both, both, result.subarray(0, view.length));
        or(several, several, both);
        or(result, result, view);
      }
      andNot(result, result, several);
    },
  },
];

const operationByName = new Map(operations.map((operation) => [operation.name, operation]));

export function bitop({ keyspace, arg, word, argCount }: Call): Reply {
  const operation = operationByName.get(word(1));
  if (operation === undefined) throw syntaxError;
  const keyCount = argCount - 3;
  if (keyCount > operation.keyCountMax) throw bitopNeedsOneKey;
  if (keyCount < operation.keyCountMin) throw bitopNeedsTwoKeys(operation.name);
  const sources = Array.from({ length: keyCount }, (_, index) => keyspace.readString(arg(3 + index)));
  const target = arg(2);
  const length = sources.reduce((longest, source) => Math.max(longest, source?.length ?? 0), 0);
  if (length === 0) {
    if (keyspace.has(target)) {
      removeKey(keyspace, target);
      keyspace.notify(events.del, target);
    }
    return zero;
  }
  putContent(keyspace, target, { length, write: (result) => operation.run(result, sources), sources });
  keyspace.notify(events.set, target);
  return length;
}

/** Combines the first two sources, and each other one with the result. A missing source is all zeros. */
function fold(result: Buffer, sources: Sources, combine: Combine): void {
  const [first, second, ...others] = sources;
  if (sources.length < 2) copy(result, viewOrEmpty(first));
  else combine(result, viewOrEmpty(first), viewOrEmpty(second));
  for (const other of others) combine(result, result, viewOrEmpty(other));
}

function copy(result: Buffer, content: Buffer): void {
  result.set(content);
  result.fill(0, content.length);
}

function viewOrEmpty(source: StringValue | undefined): Buffer {
  return source === undefined ? NO_BYTES : viewOf(source);
}

const NO_BYTES = Buffer.alloc(0);

function differentOnes(sources: Sources): Sources {
  return [...new Set(sources)];
}

/** The sources that occur an odd number of times: two equal ones cancel each other. */
function oddOnes(sources: Sources): Sources {
  const odd = new Set<StringValue | undefined>();
  for (const source of sources) if (!odd.delete(source)) odd.add(source);
  return [...odd];
}

/** Each source as often as it occurs, but at most twice: with two, none of its bits is in one source alone. */
function atMostTwice(sources: Sources): Sources {
  const counts = new Map<StringValue | undefined, number>();
  return sources.filter((source) => {
    const count = (counts.get(source) ?? 0) + 1;
    counts.set(source, count);
    return count <= 2;
  });
}

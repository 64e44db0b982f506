/**
 * Question: what does our list cost compared with a plain array, at the ends, in the
 * middle and in memory?
 *
 * Method: a million elements of 10 bytes, cut from a buffer as the edge cuts
 * them, are pushed to either end; then ranges of 100 in the middle, reads at
 * random places, changes and insertions there, and trims are timed. Memory is
 * the growth of the process after a collection. The list is compared with an
 * array, the simplest implementation.
 *
 * Read: nanoseconds per call, `trimUs` microseconds for dropping three quarters
 * of the list at once, `bytes` per element. A change is worthwhile if no row rises by a
 * tenth and `bytes` stays near the elements' own.
 *
 * Run: npm run bench -- list   (or node --expose-gc bench/list.bench.ts)
 */
import { performance } from "node:perf_hooks";
import { seededRandom } from "../src/kernel/random.ts";
import { ListValue } from "../src/store/values/list.ts";

const COUNT = 1_000_000;
const SAMPLES = 100_000;

interface Subject {
  pushLast(element: string): unknown;
  pushFirst(element: string): unknown;
  popFirst(): unknown;
  range(from: number): unknown;
  at(index: number): unknown;
  set(index: number, element: string): unknown;
  insert(index: number, element: string): unknown;
  keep(from: number, to: number): unknown;
}

function listSubject(): Subject {
  const list = new ListValue();
  return {
    pushLast: (element) => list.pushLast(element),
    pushFirst: (element) => list.pushFirst(element),
    popFirst: () => list.popFirst(),
    range: (from) => {
      const elements: string[] = [];
      list.visit({ from, to: from + 100 }, (element) => elements.push(element) > 0);
      return elements;
    },
    at: (index) => list.at(index),
    set: (index, element) => list.set(index, element),
    insert: (index, element) => list.insert(index, element),
    keep: (from, to) => list.keep(from, to),
  };
}

function arraySubject(): Subject {
  let array: string[] = [];
  return {
    pushLast: (element) => array.push(element),
    pushFirst: (element) => array.unshift(element),
    popFirst: () => array.shift(),
    range: (from) => array.slice(from, from + 100),
    at: (index) => array[index],
    set: (index, element) => {
      array[index] = element;
    },
    insert: (index, element) => array.splice(index, 0, element),
    keep: (from, to) => {
      array = array.slice(from, to);
    },
  };
}

const scratch = Buffer.alloc(10);

function elementOf(number: number): string {
  scratch.write(String(number).padStart(10, "0"), "latin1");
  return scratch.latin1Slice();
}

function residentBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function nanosecondsEach(count: number, call: (i: number) => void): number {
  const startMs = performance.now();
  for (let i = 0; i < count; i += 1) call(i);
  return Math.round(((performance.now() - startMs) * 1e6) / count);
}

function measure(name: string, make: () => Subject): Record<string, string | number> {
  const random = seededRandom(1);
  const isArray = name === "array";
  const subject = make();
  const emptyBytes = residentBytes();
  const elementNs = nanosecondsEach(COUNT, (i) => void elementOf(i));
  const pushLast = nanosecondsEach(COUNT, (i) => subject.pushLast(elementOf(i))) - elementNs;
  const bytes = Math.round((residentBytes() - emptyBytes) / COUNT);
  // Operations that move the whole array are sampled less often.
  const few = isArray ? 200 : SAMPLES;
  const range100 = nanosecondsEach(SAMPLES, () => subject.range(COUNT / 2 + random.below(1_000)));
  const at = nanosecondsEach(SAMPLES, () => subject.at(random.below(COUNT)));
  const set = nanosecondsEach(SAMPLES, (i) => subject.set(random.below(COUNT), elementOf(i)));
  const insert = nanosecondsEach(few, (i) => subject.insert(random.below(COUNT), elementOf(i)));
  const pushFirst = nanosecondsEach(few, (i) => subject.pushFirst(elementOf(i)));
  const popFirst = nanosecondsEach(few, () => subject.popFirst());
  const trimUs = Math.round(nanosecondsEach(1, () => subject.keep(COUNT / 4, COUNT / 2)) / 1_000);
  return { subject: name, pushLast, pushFirst, popFirst, range100, at, set, insert, trimUs, bytes };
}

measure("warm-up", listSubject);
console.table([measure("list", listSubject), measure("array", arraySubject)]);

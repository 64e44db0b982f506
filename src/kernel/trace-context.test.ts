import assert from "node:assert/strict";
import { test } from "node:test";
import { readTraceContext } from "./trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${TRACE}-${SPAN}-01`;

test("accepts a traceparent by its grammar, and passes it on unchanged", () => {
  const rows: readonly (readonly [given: string, kept: string | undefined])[] = [
    [PARENT, PARENT],
    [` ${PARENT}\t`, PARENT],
    [`00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-00`],
    [`00-${TRACE}-${SPAN}-fe`, `00-${TRACE}-${SPAN}-fe`],
    // A later version: its known fields, in the known version.
    [`01-${TRACE}-${SPAN}-01`, PARENT],
    [`cc-${TRACE}-${SPAN}-ff-what-the-future-brings`, `00-${TRACE}-${SPAN}-03`],
    [`01-${TRACE}-${SPAN}-00-`, `00-${TRACE}-${SPAN}-00`],
    [`01-${TRACE}-${SPAN}-01.more`, undefined],
    [`${PARENT}-more`, undefined],
    [`${PARENT}0`, undefined],
    [`ff-${TRACE}-${SPAN}-01`, undefined],
    [`00-${"0".repeat(32)}-${SPAN}-01`, undefined],
    [`00-${TRACE}-${"0".repeat(16)}-01`, undefined],
    [PARENT.toUpperCase(), undefined],
    [`00-${TRACE.slice(1)}-${SPAN}-01`, undefined],
    [`00-${TRACE}-${SPAN}`, undefined],
    [`${PARENT},${PARENT}`, undefined],
    [`01-${TRACE}-${SPAN}-01-${"x".repeat(600)}`, undefined],
    ["", undefined],
  ];
  for (const [given, kept] of rows) assert.equal(readTraceContext(given, undefined)?.parent, kept, given);
  assert.equal(readTraceContext(undefined, "a=1"), undefined);
});

test("accepts a tracestate as a whole or not at all, and does not change the traceparent", () => {
  const rows: readonly (readonly [given: string, kept: string | undefined])[] = [
    ["congo=t61rcWkgMzE", "congo=t61rcWkgMzE"],
    ["rojo=00f067aa0ba902b7 ,\tcongo=t61", "rojo=00f067aa0ba902b7,congo=t61"],
    ["a=1,,b=2,", "a=1,b=2"],
    ["fw529a3039@dt=FfffffFfff;x, 0a/b*c_d-e=in side", "fw529a3039@dt=FfffffFfff;x,0a/b*c_d-e=in side"],
    ["a=1,a=2", undefined],
    ["A=1", undefined],
    ["a", undefined],
    ["a=", undefined],
    ["=1", undefined],
    ["a=b=c", undefined],
    ["a=caf\u00e9", undefined],
    ["", undefined],
    [Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(","), undefined],
    [`a=${"v".repeat(257)}`, undefined],
    [`a=${"v".repeat(9_000)}`, undefined],
  ];
  for (const [given, kept] of rows) {
    const expected = kept === undefined ? { parent: PARENT } : { parent: PARENT, state: kept };
    assert.deepEqual(readTraceContext(PARENT, given), expected, given);
  }
  assert.equal(readTraceContext("broken", "a=1"), undefined);
});

test("shortens a tracestate of more than 512 characters by its long members, then by the last ones", () => {
  const long = `long=${"v".repeat(200)}`;
  const short = (index: number): string => `m${index}=${"v".repeat(95)}`; // 98 characters
  const four = [1, 2, 3, 4].map(short);
  assert.equal(readTraceContext(PARENT, [long, ...four].join(","))?.state, four.join(","));
  assert.equal(readTraceContext(PARENT, [...four, short(5), short(6)].join(","))?.state, [...four, short(5)].join(","));
});

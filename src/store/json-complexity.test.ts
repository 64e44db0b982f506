/**
 * The work of JSON commands must not grow with the document around the values they use. It is counted, not timed:
 * visited members, path steps, and bytes of the journal.
 */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { RecordingJournal } from "../../test/harness/recording-journal.ts";
import { type Session, startSession } from "../../test/harness/store-harness.ts";
import { JsonObject } from "./json/object.ts";
import { parseJson } from "./json/parse.ts";
import { parsePath } from "./json/path-parser.ts";
import { StepBudget } from "./json/step-budget.ts";
import { matchesOf } from "./json/walk.ts";

const FEW = 1_000;
const MANY = 8_000;
const SAMPLES = 200;
/** Members of the small objects that a command uses, and of its arguments. */
const VISITS_MAX = 40;
const STEPS_MAX = 20;
/** A path of three steps, a small value, and the frame around it. */
const FRAME_BYTES_MAX = 120;

function documentOf(count: number): string {
  const members = Array.from(
    { length: count },
    (_, i) => `"m${i}":{"n":${i},"s":"text","b":true,"l":[1,2,3],"o":{"a":1}}`,
  );
  return `{"list":[${Array.from({ length: count }, (_, i) => i).join()}],"map":{${members.join()}}}`;
}

/** Commands on the member or element number `i`. */
const calls: readonly ((i: number) => readonly string[])[] = [
  (i) => ["JSON.GET", "k", `$.map.m${i}`],
  (i) => ["JSON.TYPE", "k", `$.map.m${i}.n`],
  () => ["JSON.OBJLEN", "k", "$.map"],
  () => ["JSON.ARRLEN", "k", "$.list"],
  (i) => ["JSON.GET", "k", `$.list[${i}]`],
  (i) => ["JSON.GET", "k", `$.list[${i}:${i + 3}]`],
  (i) => ["JSON.SET", "k", `$.map.m${i}.n`, "7"],
  (i) => ["JSON.SET", "k", `$.map.new${i}`, '{"n":1}'],
  (i) => ["JSON.SET", "k", `$.list[${i}]`, '"x"'],
  (i) => ["JSON.MERGE", "k", `$.map.m${i}`, '{"n":null,"z":1}'],
  (i) => ["JSON.NUMINCRBY", "k", `$.map.m${i}.n`, "1"],
  (i) => ["JSON.STRAPPEND", "k", `$.map.m${i}.s`, '"more"'],
  (i) => ["JSON.TOGGLE", "k", `$.map.m${i}.b`],
  (i) => ["JSON.ARRAPPEND", "k", `$.map.m${i}.l`, "4"],
  () => ["JSON.ARRAPPEND", "k", "$.list", "4"],
  () => ["JSON.ARRPOP", "k", "$.list"],
  (i) => ["JSON.CLEAR", "k", `$.map.m${i}.o`],
  (i) => ["JSON.DEL", "k", `$.map.m${i}`],
];

interface Work {
  readonly visits: number;
  readonly frameBytes: number;
}

function workOf(session: Session, journal: RecordingJournal, run: () => void): Work {
  let visits = 0;
  const { visit } = JsonObject.prototype;
  const spy = mock.method(
    JsonObject.prototype,
    "visit",
    function (this: JsonObject, each: Parameters<typeof visit>[0]) {
      visits += this.size;
      visit.call(this, each);
    },
  );
  const frameCount = journal.frames.length;
  run();
  spy.mock.restore();
  assert.ok(session.run("EXISTS k"));
  const frameBytes = journal.frames.slice(frameCount).reduce((sum, { length }) => sum + length, 0);
  return { visits: visits / SAMPLES, frameBytes: frameBytes / SAMPLES };
}

for (const words of calls) {
  test(`the work of ${words(0).join(" ")} does not grow with the document around it`, () => {
    for (const count of [FEW, MANY]) {
      const journal = new RecordingJournal();
      const session = startSession({ journal });
      session.call("JSON.SET", "k", "$", documentOf(count));
      const { visits, frameBytes } = workOf(session, journal, () => {
        for (let i = 0; i < SAMPLES; i += 1) session.call(...words(Math.floor((i * count) / SAMPLES)));
      });
      assert.ok(visits <= VISITS_MAX, `${visits} members visited of ${count}`);
      assert.ok(frameBytes <= FRAME_BYTES_MAX, `${frameBytes} bytes journaled with ${count} members`);
    }
  });
}

test("a path by names and indexes takes as many steps in a large document as in a small one", () => {
  for (const count of [FEW, MANY]) {
    const { node } = parseJson(documentOf(count));
    for (const path of [
      "$.map.m7.o.a",
      "$.list[9]",
      "$.list[-1]",
      "$.list[1:4]",
      "$['map']['m1','m2'].n",
      "map.m3.l[0]",
    ]) {
      const budget = new StepBudget();
      assert.ok(matchesOf(node, parsePath(path).segments, budget).length > 0, path);
      assert.ok(budget.used <= STEPS_MAX, `${path}: ${budget.used} steps in a document of ${count}`);
    }
  }
});

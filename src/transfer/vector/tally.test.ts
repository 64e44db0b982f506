/** Sums over records: the differences that they show, and those that they ignore. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSameTally, parseRecord, Tally } from "./tally.ts";

function sum(...records: readonly (readonly [namespace: string, text: string])[]): string {
  const tally = new Tally();
  for (const [namespace, text] of records) tally.add(namespace, parseRecord(text));
  return `${tally.state.count} ${tally.state.digest}`;
}

const A = '{"id":"a","vector":[0.1,2],"metadata":{"x":1,"y":[2]},"data":"t"}';
const B = '{"id":"b","sparseVector":{"indices":[3,-1],"values":[0.5,1]}}';

test("the order of records, of members and of metadata does not matter, nor how a float32 is spelled", () => {
  assert.equal(sum(["n", A], ["n", B]), sum(["n", B], ["n", A]));
  assert.equal(
    sum(["n", A]),
    sum(["n", ' {"data":"t","metadata":{"y":[2],"x":1.0},"vector":[0.10000000149011612,2e0],"id":"\\u0061"}']),
  );
  assert.equal(sum(["n", '{"id":"a","vector":[-0]}']), sum(["n", '{"id":"a","vector":[0],"data":null}']));
});

test("every part of a record counts, and so does its namespace", () => {
  const others: readonly (readonly [string, string])[] = [
    ["m", A],
    ["n", A.replace('"a"', '"c"')],
    ["n", A.replace("0.1", "0.10000001")],
    ["n", A.replace("[2]", "[3]")],
    ["n", A.replace('"t"', '""')],
    ["n", A.replace(',"data":"t"', "")],
    ["n", '{"id":"a","data":"t"}'],
  ];
  const digests = new Set(others.map((other) => sum(other)));
  assert.equal(digests.size, others.length);
  assert.ok(!digests.has(sum(["n", A])));
  assert.notEqual(sum(["n", B]), sum(["n", B.replace("3,-1", "-1,3")]));
  assert.notEqual(sum(["n", A], ["n", A]), sum(["n", A]));
});

test("sums of parts add up to the sum of the whole, also after being stored", () => {
  const one = new Tally();
  one.add("n", parseRecord(A));
  const other = new Tally(one.state);
  other.add("n", parseRecord(B));
  const all = new Tally();
  all.addAll(one.state);
  const b = new Tally();
  b.add("n", parseRecord(B));
  all.addAll(b.state);
  assert.ok(isSameTally(all.state, other.state));
  assert.equal(`${all.state.count} ${all.state.digest}`, sum(["n", A], ["n", B]));
});

test("rejects an invalid record with its id", () => {
  const rows: readonly (readonly [string, string | RegExp])[] = [
    ["[]", "the id of a record is a string"],
    ['{"id":1}', "the id of a record is a string"],
    ['{"id":"a","vector":[1,"2"]}', 'the vector of the record "a" is not valid'],
    ['{"id":"a","sparseVector":{"indices":[1],"values":[]}}', 'the sparseVector of the record "a" is not valid'],
    ['{"id":"a","data":1}', 'the data of the record "a" is not valid'],
    ['{"id":"a"', /JSON/],
  ];
  for (const [text, message] of rows) assert.throws(() => parseRecord(text), { name: "SyntaxError", message }, text);
});

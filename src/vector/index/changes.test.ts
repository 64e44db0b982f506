import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameWriter } from "../../kernel/frame.ts";
import { type Change, readChanges, writeChange } from "./changes.ts";

const sparse = { indices: new Int32Array([-1, 2_147_483_647]), values: new Float32Array([0.1, -2]) };

const changes: readonly Change[] = [
  {
    kind: "create index",
    index: 3,
    name: "docs",
    definition: {
      type: "HYBRID",
      dimension: undefined,
      similarity: "EUCLIDEAN",
      denseModel: "BGE_M3",
      sparseModel: undefined,
    },
  },
  { kind: "drop index", index: 3 },
  { kind: "fix dimension", index: 3, dimension: 384 },
  { kind: "create namespace", index: 3, namespace: 1, name: "grüße/__proto__" },
  { kind: "drop namespace", index: 3, namespace: 1 },
  { kind: "clear namespace", index: 3, namespace: 0 },
  { kind: "rename namespace", index: 3, namespace: 1, name: "neu" },
  {
    kind: "put",
    index: 3,
    namespace: 1,
    put: {
      id: "ä",
      isWhole: true,
      vector: new Float32Array([0.1, -0, 3.4e38]),
      version: 300,
      sparseVector: sparse,
      metadata: '{"a":1}',
      data: "text",
    },
  },
  {
    kind: "put",
    index: 3,
    namespace: 1,
    put: {
      id: "b",
      isWhole: false,
      vector: undefined,
      version: 0,
      sparseVector: undefined,
      metadata: undefined,
      data: "",
    },
  },
  { kind: "remove", index: 3, namespace: 1, id: "ä" },
  { kind: "next numbers", index: 3, namespace: 4, version: 5_000_000_000 },
  { kind: "next index", index: 9 },
];

for (const change of changes) {
  test(`a "${change.kind}" change is read as it was written`, () => {
    const writer = new FrameWriter();
    writeChange(writer, change);

    assert.deepEqual([...readChanges(Buffer.from(writer.take()))], [change]);
  });
}

test("the changes of one frame are read in order", () => {
  const writer = new FrameWriter();
  const ofIndex = changes.filter(({ kind }) => !/ index$/.test(kind));
  for (const change of ofIndex) writeChange(writer, change);

  assert.deepEqual([...readChanges(Buffer.from(writer.take()))], ofIndex);
});

test("refuses a record of an unknown kind", () => {
  const writer = new FrameWriter();
  writer.record(1, 99);

  assert.throws(() => [...readChanges(Buffer.from(writer.take()))], /kind 99/);
});

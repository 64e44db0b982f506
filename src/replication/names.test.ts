import assert from "node:assert/strict";
import { test } from "node:test";
import { type CopyName, generationOfOwner, objectName, ownerName, parseObjectName } from "./names.ts";

const sum = "0123456789abcdef0123456789abcdef";

const names: readonly (readonly [CopyName, string])[] = [
  [{ kind: "begin" }, "g0000000000000007/begin"],
  [{ kind: "tick", timeMs: 1767225600000 }, "g0000000000000007/tick/0001767225600000"],
  [{ kind: "tokens", timeMs: 1, sum }, `g0000000000000007/tokens/0000000000000001-${sum}`],
  [
    { kind: "segment", area: "store", number: 3, salt: 255, timeMs: 2, sum },
    `g0000000000000007/store/segment/0000000003-000000ff-0000000000000002-${sum}`,
  ],
  [{ kind: "times", area: "store", number: 3, salt: 255 }, "g0000000000000007/store/times/0000000003-000000ff"],
  [
    { kind: "snapshot", area: "vector", number: 3, salt: 0xffff_ffff, sum },
    `g0000000000000007/vector/snapshot/0000000003-ffffffff-${sum}`,
  ],
  [
    { kind: "part", area: "store", number: 3, salt: 1, start: 64, timeMs: 2, sum, isLast: false },
    `g0000000000000007/store/part/0000000003-00000001/0000000000000064-0000000000000002-${sum}`,
  ],
  [
    { kind: "part", area: "store", number: 3, salt: 1, start: 64, timeMs: 2, sum, isLast: true },
    `g0000000000000007/store/part/0000000003-00000001/0000000000000064-0000000000000002-${sum}-end`,
  ],
  [
    { kind: "history", area: "messaging", timeMs: 2, sum },
    `g0000000000000007/messaging/history/0000000000000002-${sum}`,
  ],
];

test("names of objects are printed and read", () => {
  for (const [name, text] of names) {
    assert.equal(objectName(7, name), text);
    assert.deepEqual(parseObjectName(text), { generation: 7, name });
  }
});

test("names that larder does not make are not read", () => {
  for (const text of [
    "",
    "begin",
    "g7/begin",
    "g0000000000000007/other",
    "g0000000000000007/store/segment/3",
    `g0000000000000007/Store/snapshot/0000000003-ffffffff-${sum}`,
    `g0000000000000007/store/part/0000000003-00000001/0000000000000064-0000000000000002-${sum}-more`,
    "owners/0000000000000007",
  ])
    assert.equal(parseObjectName(text), undefined, text);
});

test("an owner's name has its generation", () => {
  assert.equal(ownerName(12), "owners/0000000000000012");
  assert.equal(generationOfOwner("owners/0000000000000012"), 12);
  assert.equal(generationOfOwner("owners/12"), undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { openSealed, seal } from "./sealing.ts";

const sealing = { key: Buffer.alloc(32, 3), associated: Buffer.from("place") };
const SEALED = Buffer.from("0104040404040404040404040434426bb9fd794b6ea09a0858682203c8a16b2ab8", "hex");

test("bytes that were sealed long ago open", () => {
  assert.equal(openSealed(SEALED, sealing)?.toString(), "text");
});

test("bytes open with their key and associated data only, and two seals of them differ", () => {
  for (const text of ["text", ""]) {
    const sealed = seal(Buffer.from(text), sealing);
    assert.equal(sealed.length, 29 + text.length);
    assert.equal(openSealed(sealed, sealing)?.toString(), text);
    assert.notDeepEqual(seal(Buffer.from(text), sealing), sealed);
    assert.equal(openSealed(sealed, { ...sealing, key: Buffer.alloc(32, 4) }), undefined);
    assert.equal(openSealed(sealed, { ...sealing, associated: Buffer.from("palace") }), undefined);
  }
});

test("changed, cut and lengthened bytes do not open", () => {
  for (const at of SEALED.keys()) {
    const changed = Buffer.from(SEALED);
    changed.writeUInt8(SEALED.readUInt8(at) ^ 1, at);
    assert.equal(openSealed(changed, sealing), undefined, `byte ${at}`);
    assert.equal(openSealed(SEALED.subarray(0, at), sealing), undefined, `${at} bytes`);
  }
  assert.equal(openSealed(Buffer.concat([SEALED, Buffer.of(0)]), sealing), undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { CopyKey } from "./copy-key.ts";

const key = new CopyKey(Buffer.alloc(32, 1).toString("base64"));
const secrets = Buffer.from("secrets");

test("opens what it has sealed for the same data directory", () => {
  const sealed = key.seal(secrets, "a");
  assert.deepEqual(key.open(sealed, "a"), secrets);
  assert.equal(sealed.includes(secrets), false);
});

test("opens what an earlier version has sealed", () => {
  const sealed = Buffer.from("01f635439f190fb881266a1d2cbc41afd9ddc46cac0ddf2b1291c39b05dcc97ab880ab61", "hex");
  assert.deepEqual(key.open(sealed, "a"), secrets);
});

test("refuses bytes of another directory, of another key, and changed bytes", () => {
  const sealed = key.seal(secrets, "a");
  assert.equal(key.open(sealed, "b"), undefined);
  assert.equal(new CopyKey(Buffer.alloc(32, 2).toString("base64")).open(sealed, "a"), undefined);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(sealed.readUInt8(at) ^ 1, at);
    assert.equal(key.open(changed, "a"), undefined, `byte ${at}`);
  }
  assert.equal(key.open(sealed.subarray(0, 20), "a"), undefined);
});

test("a key of another length or spelling is refused without printing it", () => {
  for (const text of ["", "short", Buffer.alloc(31).toString("base64"), `${Buffer.alloc(32).toString("base64")}\n`])
    assert.throws(() => new CopyKey(text), {
      name: "RangeError",
      message: "The key of a copy is 32 bytes in base64. Make one with: openssl rand -base64 32",
    });
});

/** The checksum of dumps against its published check value. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CRC64_BYTES, Crc64, writeCrc64 } from "./crc64.ts";

test("the checksum of 123456789 is the check value of the Jones polynomial", () => {
  const buffer = Buffer.alloc(CRC64_BYTES);
  writeCrc64(Buffer.from("123456789"), 9, { buffer, offset: 0 });
  assert.equal(buffer.readBigUInt64LE(0), 0xe9c6d914c4b8d9can);
});

test("the checksum of nothing is zero", () => {
  const buffer = Buffer.alloc(CRC64_BYTES, 1);
  writeCrc64(Buffer.from("123456789"), 0, { buffer, offset: 0 });
  assert.equal(buffer.readBigUInt64LE(0), 0n);
});

test("steps of eight bytes and a remainder give one checksum", () => {
  const buffer = Buffer.alloc(CRC64_BYTES);
  const bytes = Buffer.from("This is a test of the emergency broadcast system.");
  writeCrc64(bytes, bytes.length, { buffer, offset: 0 });
  assert.equal(buffer.readBigUInt64LE(0), 0x42153dc5db99540fn);
});

test("parts added one after the other have the checksum of the whole", () => {
  const buffer = Buffer.alloc(CRC64_BYTES);
  const bytes = Buffer.from("--This is a test of the emergency broadcast system.--");

  new Crc64()
    .add(bytes, 2, 13)
    .add(bytes, 13, bytes.length - 2)
    .writeTo(buffer, 0);

  assert.equal(buffer.readBigUInt64LE(0), 0x42153dc5db99540fn);
});

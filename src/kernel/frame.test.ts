import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AssertionFailure } from "../kernel/assert.ts";
import { FrameReader, FrameWriter, TIME_MS_MAX } from "./frame.ts";

test("a frame is its database number and its records, byte by byte", () => {
  const frame = new FrameWriter();

  frame.record(300, 7).bytes("ab").number(5).time(258);
  frame.record(300, 8);

  assert.deepEqual([...frame.take()], [0xac, 0x02, 7, 2, 0x61, 0x62, 5, 2, 1, 0, 0, 0, 0, 8]);
  assert.equal(frame.isEmpty, true);
});

test("reads back the fields that were written", () => {
  const bytes = fc.string({
    unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
    maxLength: 60,
  });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(bytes, fc.maxSafeNat(), fc.integer({ min: 0, max: TIME_MS_MAX }), fc.uint8Array())),
      (records) => {
        const frame = new FrameWriter();
        for (const [text, number, ms, raw] of records)
          frame.record(1, 9).bytes(text).number(number).time(ms).buffer(raw);
        const reader = new FrameReader(frame.take());
        if (records.length > 0) assert.equal(reader.number(), 1);
        for (const [text, number, ms, raw] of records) {
          assert.equal(reader.code(), 9);
          assert.equal(reader.bytes(), text);
          assert.equal(reader.number(), number);
          assert.equal(reader.time(), ms);
          assert.deepEqual(new Uint8Array(reader.buffer()), raw);
        }
        assert.equal(reader.isAtEnd, true);
      },
    ),
  );
});

test("bulk bytes are those of each field after its first 256, in the current or the last frame", () => {
  const frame = new FrameWriter();

  frame.record(1, 1).bytes("x".repeat(256)).bytes("x".repeat(300)).buffer(Buffer.alloc(1_000)).number(1);
  assert.equal(frame.bulkBytes, 788);
  frame.take();
  assert.equal(frame.bulkBytes, 788);

  frame.record(1, 1).bytes("a");
  assert.equal(frame.bulkBytes, 0);
  const { unitByteCount } = frame;
  frame.record(1, 1).bytes("x".repeat(300));
  assert.equal(frame.bulkBytes, 44);
  frame.cutUnit(unitByteCount);
  assert.equal(frame.bulkBytes, 0);
});

test("reads back a byte string of a megabyte, and the writer releases its large buffer", () => {
  const frame = new FrameWriter();
  const long = "x".repeat(3_000_000);

  const reader = new FrameReader(Buffer.from(frame.record(1, 1).bytes(long).take()));

  reader.number();
  reader.code();
  assert.equal(reader.bytes(), long);
});

test("a byte string is read as a string below a length, and as a view from there on", () => {
  const reader = new FrameReader(Buffer.from([3, 0x61, 0xff, 0x62, 4, 0x61, 0xff, 0x62, 0x63]));

  assert.equal(reader.bytesBelow(4), "a\xffb");
  assert.deepEqual(reader.bytesBelow(4), Buffer.from([0x61, 0xff, 0x62, 0x63]));
  assert.equal(reader.isAtEnd, true);
});

test("a frame that ends inside a field fails an assertion", () => {
  const whole = Buffer.from(new FrameWriter().record(1, 1).bytes("hello").time(1).take());
  for (let length = 1; length < whole.length; length += 1) {
    const reader = new FrameReader(whole.subarray(0, length));
    assert.throws(() => {
      reader.number();
      reader.code();
      reader.bytes();
      reader.time();
    }, AssertionFailure);
  }
});

test("a frame has the records of several units, and cuts only those of the last one", () => {
  const frame = new FrameWriter();
  frame.record(5, 7).number(1);
  frame.endUnit();
  assert.equal(frame.unitByteCount, 0);

  frame.record(5, 7).number(2);
  const { unitByteCount } = frame;
  frame.record(5, 7).number(3);
  frame.cutUnit(unitByteCount);
  assert.throws(() => frame.cutUnit(unitByteCount + 1), AssertionFailure);
  assert.equal(frame.unitByteCount, 2);
  assert.throws(() => frame.record(6, 7), AssertionFailure);
  assert.deepEqual([...frame.take()], [5, 7, 1, 7, 2]);

  assert.equal(frame.unitByteCount, 0);
  frame.record(6, 7);
  frame.cutUnit(0);
  assert.equal(frame.isEmpty, true);
});

import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { type Kind, kinds, LinkFault, LinkFrameReader, LinkFrameWriter, writeChunks } from "./frames.ts";

type Shown = readonly [kind: number, number: number, rest: string];

/** All frames of these packets. */
function framesOf(reader: LinkFrameReader, ...packets: readonly Buffer[]): Shown[] {
  const frames: Shown[] = [];
  for (const packet of packets) {
    reader.add(packet);
    while (reader.next()) frames.push([reader.kind, reader.number, reader.text(0, reader.size)]);
  }
  return frames;
}

function written(...frames: readonly (readonly [kind: Kind, number: number, rest: string])[]): Buffer {
  const writer = new LinkFrameWriter();
  for (const [kind, number, rest] of frames) {
    writer.begin(kind, number, rest.length);
    writer.text(rest);
  }
  return Buffer.concat(writer.take());
}

test("a frame has the length of all its bytes, its kind, its number and the rest", () => {
  const writer = new LinkFrameWriter();
  writer.begin(kinds.answer, 0x01_02_03_04, 13);
  writer.uint16(0x05_06);
  writer.uint32(0xff_07_08_09);
  writer.text("a\xe9");
  writer.text("\u20ac", "utf8");
  writer.copy(Buffer.from("zz"));
  assert.equal(
    Buffer.concat(writer.take()).toString("hex"),
    "000000160501020304" + "0506" + "ff070809" + "61e9" + "e282ac" + "7a7a",
  );
  assert.equal(writer.size, 0);
});

test("frames are the same however their bytes are split", () => {
  const bytes = written([kinds.head, 1, "abc"], [kinds.cancel, 0xffff_ffff, ""], [kinds.data, 7, "x".repeat(20)]);
  const whole: Shown[] = [
    [1, 1, "abc"],
    [4, 0xffff_ffff, ""],
    [7, 7, "x".repeat(20)],
  ];
  assert.deepEqual(framesOf(new LinkFrameReader(), bytes), whole);
  for (let first = 0; first <= bytes.length; first += 1)
    for (let second = first; second <= bytes.length; second += 1) {
      const packets = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      assert.deepEqual(framesOf(new LinkFrameReader(), ...packets), whole, `${first} ${second}`);
    }
  assert.deepEqual(framesOf(new LinkFrameReader(), ...Array.from(bytes, (byte) => Buffer.of(byte))), whole);
});

/** The same, with data that came in parts joined, and the bytes of the longest part. */
function joined(frames: readonly Shown[]): Shown[] {
  const all: Shown[] = [];
  for (const [kind, number, rest] of frames) {
    const [, lastNumber, before = ""] = all.at(-1) ?? [];
    const isPart = kind === kinds.tunnelData && lastNumber === number && before.length < LONG.length;
    if (isPart) all[all.length - 1] = [kind, number, before + rest];
    else all.push([kind, number, rest]);
  }
  return all;
}

const LONG = "0123456789".repeat(1_000);

test("a long piece of a tunnel comes in parts as its packets do, and short ones and other frames come whole", () => {
  const frames: readonly Shown[] = [
    [kinds.tunnelData, 7, "short"],
    [kinds.tunnelData, 8, LONG],
    [kinds.data, 8, LONG],
    [kinds.tunnelEnd, 8, ""],
  ];
  const bytes = written(...(frames as readonly (readonly [Kind, number, string])[]));
  const whole = framesOf(new LinkFrameReader(), bytes);
  assert.deepEqual(whole, frames);
  // Each place around the ends of frames, and some within the long ones.
  const ends = [0, 14, 14 + 9 + LONG.length, 14 + 2 * (9 + LONG.length), bytes.length];
  const splits = ends.flatMap((end) => Array.from({ length: 25 }, (_, i) => end + i - 12)).concat([500, 5_000, 15_000]);
  for (const split of splits.filter((at) => at >= 0 && at <= bytes.length)) {
    const parts = framesOf(new LinkFrameReader(), bytes.subarray(0, split), bytes.subarray(split));
    assert.deepEqual(joined(parts), frames, `${split}`);
  }
  const single = framesOf(new LinkFrameReader(), ...Array.from(bytes, (byte) => Buffer.of(byte)));
  assert.deepEqual(joined(single), frames);
});

test("a part of a long piece is a part of its packet, not a copy", () => {
  const reader = new LinkFrameReader();
  const packet = written([kinds.tunnelData, 7, LONG]).subarray(0, 6_009);
  reader.add(packet);
  assert.equal(reader.next(), true);
  assert.deepEqual([reader.bytes === packet, reader.start, reader.end], [true, 9, 6_009]);
  assert.equal(reader.next(), false);
});

test("the frames of a turn are one write if they are few bytes, and long buffers are a write each", () => {
  const shown = (...lengths: readonly number[]): readonly string[] => {
    const calls: string[] = [];
    const socket = new Writable();
    Object.assign(socket, {
      write: (chunk: Buffer, done?: () => void) =>
        void calls.push(`${chunk.length}${done === undefined ? "" : " done"}`),
      cork: () => void calls.push("cork"),
      uncork: () => void calls.push("uncork"),
    });
    writeChunks(
      socket,
      lengths.map((length) => Buffer.alloc(length)),
      () => {},
    );
    return calls;
  };
  assert.deepEqual(shown(), []);
  assert.deepEqual(shown(5), ["5 done"]);
  assert.deepEqual(shown(100_000), ["100000 done"]);
  assert.deepEqual(shown(5, 16_384), ["cork", "5", "16384 done", "uncork"]);
  assert.deepEqual(shown(5, 16_385), ["5", "16385 done"]);
});

test("the beginning of a frame is kept as a copy", () => {
  const bytes = written([kinds.data, 7, "abc"]);
  const [packet, rest] = [Buffer.from(bytes.subarray(0, 10)), bytes.subarray(10)];
  const reader = new LinkFrameReader();
  assert.deepEqual(framesOf(reader, packet), []);
  packet.fill(0);
  assert.deepEqual(framesOf(reader, rest), [[7, 7, "abc"]]);
});

test("a frame that is shorter than its header or longer than the bound is a fault, as soon as its length is known", () => {
  const cases: readonly (readonly [hex: string, fault: string])[] = [
    ["00000008" + "01" + "00000001", "a frame has 8 bytes"],
    ["00000000" + "01" + "00000001", "a frame has 0 bytes"],
    ["00020001" + "01" + "00000001", "a frame has 131073 bytes"],
    ["ffffffff" + "01" + "00000001", "a frame has 4294967295 bytes"],
  ];
  for (const [hex, fault] of cases) {
    const bytes = Buffer.from(hex, "hex");
    assert.throws(() => framesOf(new LinkFrameReader(), bytes), new LinkFault(fault));
    assert.throws(() => framesOf(new LinkFrameReader(), bytes.subarray(0, 2), bytes.subarray(2)), new LinkFault(fault));
  }
});

test("a value that a frame has no bytes for is a fault", () => {
  const reader = new LinkFrameReader();
  reader.add(written([kinds.credit, 1, "abc"], [kinds.credit, 1, ""]));
  assert.equal(reader.next(), true);
  assert.throws(() => reader.uint32(0), LinkFault);
  assert.throws(() => reader.uint16(2), LinkFault);
  assert.throws(() => reader.text(1, 3), LinkFault);
});

test("frames of more than one buffer come out in their order", () => {
  const writer = new LinkFrameWriter();
  const rests = Array.from({ length: 40 }, (_, i) => String(i).repeat(5_000));
  for (const [i, rest] of rests.entries()) {
    writer.begin(kinds.data, i, rest.length);
    writer.text(rest);
  }
  const { size } = writer;
  const chunks = writer.take();
  assert.ok(chunks.length > 1);
  assert.equal(Buffer.concat(chunks).length, size);
  assert.deepEqual(
    framesOf(new LinkFrameReader(), ...chunks).map(([, , rest]) => rest),
    rests,
  );
  assert.deepEqual(writer.take(), []);
});

test("bytes that were taken are not written again", () => {
  const writer = new LinkFrameWriter();
  writer.begin(kinds.data, 1, 3);
  writer.text("one");
  const [first] = writer.take();
  writer.begin(kinds.data, 2, 3);
  writer.text("two");
  const [second] = writer.take();
  assert.deepEqual(framesOf(new LinkFrameReader(), first as Buffer, second as Buffer), [
    [7, 1, "one"],
    [7, 2, "two"],
  ]);
});

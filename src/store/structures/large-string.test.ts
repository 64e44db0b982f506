import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LargeString } from "./large-string.ts";

test("returns the stored bytes", () => {
  for (const bytes of ["", "a", "\x00\xff\x80", "x".repeat(10_000)]) {
    const string = LargeString.from(bytes);
    assert.equal(string.length, bytes.length);
    assert.equal(string.toBytes(), bytes);
    assert.equal(string.toBuffer().latin1Slice(), bytes);
    assert.equal(string.view.latin1Slice(), bytes);
  }
});

test("setRange overwrites, extends, and fills a gap with zero bytes", () => {
  const table: [string, number, string, string][] = [
    ["Hello World", 6, "Redis", "Hello Redis"],
    ["Hello", 5, " you", "Hello you"],
    ["Hello", 3, "p me", "Help me"],
    ["ab", 4, "c", "ab\x00\x00c"],
    ["", 2, "\xff", "\x00\x00\xff"],
    ["ab", 9, "", "ab"],
  ];
  for (const [before, offset, bytes, after] of table) {
    const string = LargeString.from(before);
    assert.equal(string.setRange(offset, bytes), after.length);
    assert.equal(string.toBytes(), after);
  }
});

test("a gap is zero even where old content was", () => {
  const string = LargeString.from("x".repeat(100));
  string.append("y".repeat(100));
  const copy = string.copy();
  copy.setRange(250, "z");
  assert.equal(copy.toBytes(), `${"x".repeat(100)}${"y".repeat(100)}${"\x00".repeat(50)}z`);
});

/** False if it refuses. */
function replace(string: LargeString, content: string): boolean {
  return string.replaceable(content.length)?.write(content, "latin1") === content.length;
}

test("new content that fits the capacity and fills most of it can be written in place", () => {
  const string = LargeString.from("0123456789");
  assert.equal(replace(string, "abcdefgh"), true);
  assert.equal(string.toBytes(), "abcdefgh");
  assert.equal(string.length, 8);
  for (const other of ["01234567890", "0123"]) {
    assert.equal(replace(string, other), false);
    assert.equal(string.toBytes(), "abcdefgh");
  }
  assert.equal(string.setRange(9, "x"), 10);
  assert.equal(string.toBytes(), "abcdefgh\x00x");
});

test("content that fills the memory exactly is overwritten in place, unless it is lent", () => {
  const string = LargeString.from("0123456789");
  const lengthOf = (content: Buffer) => `${content.length}${content[0]}`;
  assert.equal(string.digest(lengthOf), "1048");

  assert.equal(string.overwrite(Buffer.from("abcdefghij")), true);
  assert.deepEqual([string.toBytes(), string.digest(lengthOf)], ["abcdefghij", "1097"]);
  for (const other of ["abcdefghijk", "abcdefghi", ""]) assert.equal(string.overwrite(Buffer.from(other)), false);
  assert.equal(string.toBytes(), "abcdefghij");

  const lent = string.lend();
  assert.equal(string.overwrite(Buffer.from("0123456789")), false);
  assert.deepEqual([string.toBytes(), lent.latin1Slice()], ["abcdefghij", "abcdefghij"]);
});

test("content is not overwritten in memory with spare capacity", () => {
  const string = LargeString.from("0123456789");
  string.append("a");

  assert.equal(string.overwrite(Buffer.from("0123456789a")), false);
  assert.equal(string.toBytes(), "0123456789a");
});

test("slice returns a part", () => {
  const string = LargeString.from("0123456789");
  string.append("abc");
  assert.equal(string.slice(8, 11), "89a");
  assert.equal(string.slice(12, 99), "c");
  assert.equal(string.slice(3, 3), "");
});

test("a copy, a buffer and the source stay as they were when the string changes", () => {
  const source = Buffer.from("abc");
  const string = LargeString.fromBuffer(source);
  const copy = string.copy();
  const buffer = string.toBuffer();

  string.setRange(0, "XYZ");

  assert.equal(source.toString(), "abc");
  assert.equal(copy.toBytes(), "abc");
  assert.equal(buffer.toString(), "abc");
});

test("appending byte by byte allocates a logarithmic number of times", () => {
  for (const [count, allocationsMax] of [
    [1_000, 10],
    [10_000, 13],
    [100_000, 17],
  ] as const) {
    const string = LargeString.from("");
    let allocations = 0;
    let memoryBytes = string.memoryBytes;
    for (let i = 0; i < count; i += 1) {
      string.append("x");
      if (string.memoryBytes !== memoryBytes) allocations += 1;
      memoryBytes = string.memoryBytes;
    }
    assert.ok(allocations <= allocationsMax, `${count} appends: ${allocations} allocations`);
    assert.ok(memoryBytes <= 2 * count, `${count} appends: ${memoryBytes} bytes held`);
  }
});

test("random changes give the same content as a plain string", () => {
  const bytes = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });
  const step = fc.tuple(fc.option(fc.nat(200)), bytes);
  fc.assert(
    fc.property(bytes, fc.array(step, { maxLength: 30 }), (first, steps) => {
      const string = LargeString.from(first);
      let plain = first;
      for (const [offset, part] of steps) {
        if (offset === null) {
          string.append(part);
          plain += part;
        } else {
          string.setRange(offset, part);
          if (part !== "")
            plain = plain.padEnd(offset, "\x00").slice(0, offset) + part + plain.slice(offset + part.length);
        }
      }
      assert.equal(string.toBytes(), plain);
      assert.equal(string.length, plain.length);
    }),
  );
});

test("a digest is computed once between two changes", () => {
  const string = LargeString.from("a".repeat(5_000));
  let made = 0;
  const digest = (): string =>
    string.digest((content) => {
      made += 1;
      return `${content.length} ${content[0]}`;
    });
  assert.deepEqual([digest(), digest(), made], ["5000 97", "5000 97", 1]);
  string.append("b");
  assert.deepEqual([digest(), made], ["5001 97", 2]);
  string.setRange(0, "c");
  assert.deepEqual([digest(), made], ["5001 99", 3]);
  assert.equal(replace(string, "d".repeat(9_000)), true);
  assert.deepEqual([digest(), made], ["9000 100", 4]);
  string.ownView[0] = 101;
  assert.deepEqual([digest(), made], ["9000 101", 5]);
});

test("a lent view stays unchanged, whatever happens to the string", () => {
  const changes: [string, (string: LargeString) => unknown, string][] = [
    ["append", (string) => string.append("xyz"), "0123456789xyz"],
    ["overwrite", (string) => string.setRange(2, "ab"), "01ab456789"],
    ["overwrite and extend", (string) => string.setRange(8, "abcd"), "01234567abcd"],
    ["after a gap", (string) => string.setRange(12, "a"), "0123456789\x00\x00a"],
    ["in the view", (string) => string.ownView.fill("z", 0, 3), "zzz3456789"],
    ["replace", (string) => replace(string, "abcdefghij"), "0123456789"],
  ];
  for (const [name, change, after] of changes) {
    const string = LargeString.from("0123456789");
    const lent = string.lend();
    change(string);
    assert.equal(lent.latin1Slice(), "0123456789", name);
    assert.equal(string.toBytes(), after, name);
  }
});

test("a string that is lent and grows is not copied, nor is one that was copied once", () => {
  const string = LargeString.from("0123456789");
  string.append("a");
  const lent = string.lend();
  string.append("b");
  assert.equal(string.view.buffer, lent.buffer);
  string.setRange(0, "x");
  const own = string.view.buffer;
  assert.notEqual(own, lent.buffer);
  string.setRange(1, "y");
  assert.equal(string.view.buffer, own);
  assert.equal(string.memoryBytes, 256 + own.byteLength);
});

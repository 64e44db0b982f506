import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { readInPieces } from "./read-in-pieces.ts";

test("reads headers in pieces, a body at once, and a destroyed stream never", () => {
  let isInHeaders = true;
  const stream = new PassThrough();
  readInPieces(stream, () => isInHeaders);
  const lengths: number[] = [];
  const read = (): void => {
    const piece: unknown = stream.read();
    lengths.push(piece instanceof Buffer ? piece.length : -1);
  };

  stream.write(Buffer.alloc(10_000));
  read();
  read();
  isInHeaders = false;
  read();
  read();
  isInHeaders = true;
  stream.write(Buffer.alloc(2_048));
  read();
  stream.write(Buffer.alloc(10));
  stream.destroy();
  read();

  assert.deepEqual(lengths, [2_048, 2_048, 5_904, -1, 2_048, -1]);
});

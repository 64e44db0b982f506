/** LZF by hand-made and hostile inputs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lzfDecompress } from "./lzf.ts";

const rows: readonly (readonly [what: string, hex: string, length: number, text: string | undefined])[] = [
  ["literal bytes", "02616263", 3, "abc"],
  ["a repetition that overlaps itself", "0061e04800", 82, "a".repeat(82)],
  ["a short repetition", "02616263200200", 6, undefined],
  ["abc three times", "026162638002", 9, "abcabcabc"],
  ["fewer bytes than promised", "02616263", 4, undefined],
  ["more bytes than promised", "02616263", 2, undefined],
  ["missing bytes", "05616263", 6, undefined],
  ["a repetition from before the beginning", "00612005", 4, undefined],
  ["a repetition that is cut short", "0061e0", 10, undefined],
  ["a promise that nothing can keep", "0061e04800", 4_000_000_000, undefined],
  ["nothing", "", 0, ""],
];

test("LZF returns exactly the declared length, or undefined", () => {
  for (const [what, hex, length, text] of rows)
    assert.equal(lzfDecompress(Buffer.from(hex, "hex"), length)?.latin1Slice(), text, what);
});

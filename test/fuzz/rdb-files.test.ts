/**
 * Redis files with bytes changed, cut off, inserted or removed: each is refused
 * with an offset in the file, and has no other effect. And dumps of redis-server
 * with changed contents and a valid checksum: the reader may accept
 * them, but always terminates.
 *
 * Run again:  LARDER_RDB_SEED=… npm run t -- test/fuzz/rdb-files.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { CRC64_BYTES, Crc64 } from "../../src/store/structures/rdb/crc64.ts";
import { RdbDamage, RdbReader, RdbUnsupported } from "../../src/transfer/redis/rdb-reader.ts";
import { allowanceOf } from "../budget.ts";
import { memoryFile, rdbBytes, VALKEY_HEAD, valkeyValuesInHex, valuesInHex } from "../harness/rdb-file.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_RDB_SEED");

/** Files with every type of value and every record. */
const wholes: readonly Buffer[] = [
  rdbBytes([
    "fa0972656469732d76657205372e302e30",
    "f5056c69623a31",
    "fe00fb2000",
    "f4010203",
    // Metadata with each kind of part at the first key.
    "f30101b5444c01050205030000000004000000000000000005016100",
    ...valuesInHex.map(([, type, content]) => `fc0100000000000000${type}016b${content}`),
  ]),
  rdbBytes(
    [
      "fa0a76616c6b65792d76657205392e312e32",
      "f5056c69623a31",
      "f3016a02004064417f41ff",
      "fe00fb2000",
      ...valkeyValuesInHex.map(([, type, content]) => `f940fc0100000000000000${type}016b${content}`),
    ],
    VALKEY_HEAD,
  ),
];

/** The offset of a damaged record is within the file; the records before it are those of the file. */
async function read(bytes: Buffer): Promise<"whole" | "refused"> {
  const reader = new RdbReader(memoryFile(bytes), bytes.length);
  let recordCount = 0;
  try {
    await reader.open();
    while ((await reader.next()) !== undefined) {
      recordCount += 1;
      assert.ok(recordCount <= bytes.length, "every record takes bytes");
    }
    return "whole";
  } catch (fault) {
    if (fault instanceof RdbUnsupported) return "refused";
    assert.ok(fault instanceof RdbDamage, String(fault));
    assert.ok(fault.offset >= 0 && fault.offset <= bytes.length, `offset ${fault.offset}`);
    return "refused";
  }
}

const changes: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    const at = random.below(changed.length);
    changed[at] = (changed[at] as number) ^ (1 << random.below(8));
    return changed;
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  (bytes, random) => {
    const at = random.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.of(random.below(256)), bytes.subarray(at)]);
  },
  (bytes, random) => {
    const at = random.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(20))]);
  },
];

/** The same with the checksum of the new contents. */
function sealed(bytes: Buffer): Buffer {
  if (bytes.length < CRC64_BYTES) return bytes;
  const content = bytes.length - CRC64_BYTES;
  const copy = Buffer.from(bytes);
  new Crc64().add(copy, 0, content).writeTo(copy, content);
  return copy;
}

test("a damaged file is refused with an offset, and reading one with a new checksum terminates", async (context) => {
  const limit = allowanceOf("rdb-files");
  const startMs = systemClock.monotonicMs();
  const random = seededRandom(seed);
  let count = 0;
  let wholeCount = 0;
  const isOver = (): boolean =>
    "count" in limit ? count >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
  for (const whole of wholes) assert.equal(await read(whole), "whole");
  while (!isOver()) {
    count += 1;
    const whole = wholes[random.below(wholes.length)] as Buffer;
    let bytes: Buffer = whole;
    for (let left = 1 + random.below(3); left > 0 && bytes.length > 0; left -= 1)
      bytes = (changes[random.below(changes.length)] as (typeof changes)[number])(bytes, random);
    if (bytes.equals(whole)) continue;
    assert.equal(await read(bytes), "refused", `SEED=${seed}, file ${count}`);
    if ((await read(sealed(bytes))) === "whole") wholeCount += 1;
  }
  context.diagnostic(`SEED=${seed}: ${count} files, ${wholeCount} of them readable when sealed again`);
});

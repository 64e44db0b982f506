/** Files that are written whole are read as those of the journal. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { segmentPath, snapshotPath } from "./area-files.ts";
import { fileDisk } from "./disk/file-disk.ts";
import { FrameFileWriter, type NewFile } from "./frame-file-writer.ts";
import { checkCoveredSegment } from "./journal/segment-check.ts";
import { readArea } from "./recovery.ts";

class Collected {
  readonly parts: Buffer[] = [];

  async append(bytes: Uint8Array): Promise<void> {
    this.parts.push(Buffer.from(bytes));
  }
}

async function begin(file: Omit<NewFile, "area" | "salt">): Promise<{ writer: FrameFileWriter; sink: Collected }> {
  const sink = new Collected();
  return { sink, writer: await FrameFileWriter.begin(sink, { ...file, area: "store", salt: 77 }) };
}

test("a start reads the frames of a snapshot and of the segments after it, at the places that were returned", async (context) => {
  const directory = join(mkdtempSync(join(tmpdir(), "larder-files-")), "store");
  mkdirSync(directory);
  context.after(() => rmSync(directory, { recursive: true }));
  const texts = (...all: readonly string[]): readonly Buffer[] => all.map((text) => Buffer.from(text));
  // Longer than the buffer of a writer.
  const long = "x".repeat(3_000_000);

  const covered = await begin({ kind: "segment", number: 1, position: 40 });
  assert.deepEqual(await covered.writer.batch(texts("body")), [104]);
  await covered.writer.end();
  assert.equal(covered.writer.position, 41);
  writeFileSync(segmentPath(directory, 1), Buffer.concat(covered.sink.parts));

  const snapshot = await begin({ kind: "snapshot", number: 2, position: 41 });
  for (const frame of texts("a", long, "b")) await snapshot.writer.frame(frame);
  await snapshot.writer.end();
  writeFileSync(snapshotPath(directory, 2), Buffer.concat(snapshot.sink.parts));

  const segment = await begin({ kind: "segment", number: 2, position: 41 });
  const places = [...(await segment.writer.batch(texts("c", "dd"))), ...(await segment.writer.batch(texts(long)))];
  await segment.writer.end();
  const bytes = Buffer.concat(segment.sink.parts);
  assert.equal(bytes.length, segment.writer.bytes);
  writeFileSync(segmentPath(directory, 2), bytes);
  const empty = await begin({ kind: "segment", number: 3, position: 44 });
  await empty.writer.end();
  writeFileSync(segmentPath(directory, 3), Buffer.concat(empty.sink.parts));

  const seen: (readonly [length: number, first: string, offset: number | undefined])[] = [];
  const read = await readArea({
    ...{ disk: fileDisk, directory, area: "store" },
    apply: (frame, place) => seen.push([frame.length, frame.toString("latin1", 0, 1), place?.offset]),
  });
  assert.deepEqual(seen, [
    [1, "a", undefined],
    [3_000_000, "x", undefined],
    [1, "b", undefined],
    [1, "c", places[0]],
    [2, "d", places[1]],
    [3_000_000, "x", places[2]],
  ]);
  assert.deepEqual(
    [read.position, read.ended.map(({ number }) => number), read.covered.map(({ number }) => number)],
    [44, [2, 3], [1]],
  );
  const place = { disk: fileDisk, directory, area: "store", number: 1 };
  assert.equal(await checkCoveredSegment(place, { depth: "whole" }), undefined);
});

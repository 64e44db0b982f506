/**
 * Turns a directory that follows a copy into a data directory. It needs nothing but the
 * directory.
 *
 *     cut at the recorded places -> recover each area once -> end marks -> copy-id -> format -> no record
 *
 * (1) The format file comes last: until then the directory follows, whatever happens,
 *     and another promotion or the next follower continues.
 * (2) The last segment of each area gets an end mark, as in a restore: the server goes
 *     on with a new one, and no two servers ever write the same segment.
 */
import type { AreaCheckOptions } from "../../persistence/archive/area-check.ts";
import { listAreaFiles, segmentPath } from "../../persistence/area-files.ts";
import type { OnBytes } from "../../persistence/byte-progress.ts";
import { areaDirectory, FORMAT_FILE } from "../../persistence/data-directory.ts";
import { type Disk, readFully, withFile } from "../../persistence/disk/disk.ts";
import { writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { type AreaReport, inspectArea } from "../../persistence/inspection.ts";
import { FILE_HEADER_BYTES, parseFileHeader } from "../../persistence/journal/file-format.ts";
import { SegmentWriter } from "../../persistence/journal/segment-writer.ts";
import { DIRECTORY_ID_FILE, directoryIdLine } from "../directory-id.ts";
import { UnusableCopy } from "../errors.ts";
import type { RestoredArea } from "../restore.ts";
import { FOLLOW_FILE, type FollowedPlace, type FollowRecord } from "./record.ts";

export interface PromotionOptions {
  readonly disk: Disk;
  /** It follows, and nothing else uses it. */
  readonly directory: string;
  readonly record: FollowRecord;
  readonly onBytes?: OnBytes;
  readonly engineOf?: AreaCheckOptions["engineOf"];
}

/** The files are not the whole state of a moment. */
export class NotFollowing extends Error {
  override name = "NotFollowing";

  constructor(directory: string, { phase }: FollowRecord) {
    super(
      phase === "waiting"
        ? `${directory} has nothing to promote: nothing was fetched from the copy yet`
        : `${directory} cannot be promoted: its files are between two states of the copy. Let larder follow fetch the rest first, or use larder restore`,
    );
  }
}

const FILE_MODE = 0o600;

/** Rejects with `NotFollowing` or `UnusableCopy`, or with the system's error; then the directory still follows. */
export async function promoteDirectory(options: PromotionOptions): Promise<readonly RestoredArea[]> {
  const { disk, directory, record, onBytes, engineOf } = options;
  if (record.phase !== "following") throw new NotFollowing(directory, record);
  const reports: RestoredArea[] = [];
  for (const place of record.areas) {
    const { name: area, completeToMs } = place;
    const at = areaDirectory(directory, area);
    await cutAt(disk, at, place);
    const report = await inspectArea({ disk, directory: at, area, onBytes, engine: engineOf?.(area) });
    if (report.fault !== undefined) throw new UnusableCopy(report.fault);
    if (report.tail !== undefined) throw new UnusableCopy(`${report.tail.file} ends with a torn frame`);
    reports.push({ ...report, completeToMs });
  }
  for (const report of reports) await endLast(disk, areaDirectory(directory, report.area), report); // keeps (2)
  await writeFileDurably(`${directory}/${DIRECTORY_ID_FILE}`, directoryIdLine(record.directory), {
    mode: FILE_MODE,
    disk,
  });
  await writeFileDurably(`${directory}/${FORMAT_FILE}`, record.format, { mode: FILE_MODE, disk }); // keeps (1)
  await disk.unlink(`${directory}/${FOLLOW_FILE}`);
  await disk.syncDirectory(directory);
  return reports;
}

/** Removes what came after a place: it may not be durable, or not be all. */
async function cutAt(disk: Disk, directory: string, { segment, offset }: FollowedPlace): Promise<void> {
  const { segments, unfinished } = await listAreaFiles(disk, directory);
  const after = segments.filter((number) => number > segment || (number === segment && offset === 0));
  for (const number of after.reverse()) await disk.unlink(segmentPath(directory, number));
  for (const name of unfinished) await disk.unlink(`${directory}/${name}`);
  if (offset > 0) {
    await withFile(await disk.open(segmentPath(directory, segment), "update"), async (file) => {
      if ((await file.size()) > offset) await file.truncate(offset);
      await file.fsync();
    });
  }
  await disk.syncDirectory(directory);
}

async function endLast(disk: Disk, directory: string, { area, segments, position }: AreaReport): Promise<void> {
  const last = segments.at(-1);
  if (last === undefined || last.isEnded) return;
  const { number, bytes } = last;
  const path = segmentPath(directory, number);
  await withFile(await disk.open(path, "update"), async (file) => {
    const head = Buffer.alloc(FILE_HEADER_BYTES);
    await readFully(file, head, 0);
    const header = parseFileHeader(head, { kind: "segment", path, area, number });
    await new SegmentWriter(file, header, bytes).end(position);
    await file.fsync();
  });
}

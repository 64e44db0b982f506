/**
 * Creates a data directory from a copy. As from a backup, all files are staged and
 * recovered once before any of them gets its name (archive/restore.ts).
 *
 * (1) The last segment of each area is cut at the moment and gets an end mark, as a
 *     clean stop leaves it. So a server continues with a new segment, and no two
 *     servers that are restored from one copy ever write the same one.
 * (2) A server may copy meanwhile, and remove the parts of a segment that it has
 *     closed: then the closed segment has their place, and is fetched.
 */

import type { AreaCheckOptions } from "../persistence/archive/area-check.ts";
import { nameStagedFiles } from "../persistence/archive/restore.ts";
import { ByteProgress, type OnBytes } from "../persistence/byte-progress.ts";
import { areaDirectory, checkDataDirectory, FORMAT_FILE } from "../persistence/data-directory.ts";
import { type Disk, type DiskFile, readFully, withFile, writeFully } from "../persistence/disk/disk.ts";
import { type AreaReport, inspectArea } from "../persistence/inspection.ts";
import { BATCH_WORD, FILE_HEADER_BYTES, fileName, parseFileHeader } from "../persistence/journal/file-format.ts";
import { readItems } from "../persistence/journal/item-reader.ts";
import { SegmentWriter } from "../persistence/journal/segment-writer.ts";
import { TOKENS_FILE } from "./copier.ts";
import type { CopyKey } from "./copy-key.ts";
import { type GenerationView, listAll, notesIn, readGenerationAt } from "./copy-view.ts";
import { DIRECTORY_ID_FILE, directoryIdLine } from "./directory-id.ts";
import { DamagedCopy, UnusableCopy } from "./errors.ts";
import { fetchObject, inParallel } from "./fetch.ts";
import { type AreaPlan, objectsOf, type PlannedSegment, planMoment } from "./moment.ts";
import { generationPrefix, parseObjectName } from "./names.ts";
import type { ListedObject, ObjectStore } from "./objects/object-store.ts";

export interface CopyRestoreOptions {
  readonly store: ObjectStore;
  readonly disk: Disk;
  /** A directory that exists, is empty and is not used by anything else. */
  readonly directory: string;
  /** A directory inside it that does not exist yet. After the restore it holds at most empty directories. */
  readonly staging: string;
  /** The areas that a copy may have. */
  readonly areas: readonly string[];
  /** Wall-clock milliseconds; absent: the newest state. */
  readonly atMs?: number | undefined;
  /** Opens the tokens. Absent: they are not restored. */
  readonly key?: CopyKey | undefined;
  /** The name of the log of messages in the directory of an area. */
  readonly historyFile: string;
  readonly onBytes?: OnBytes;
  readonly engineOf?: AreaCheckOptions["engineOf"];
}

export interface RestoredArea extends AreaReport {
  /** Everything that was durable at this time is there; later changes up to the moment may be missing. */
  readonly completeToMs: number;
}

export interface CopyRestored {
  readonly generation: number;
  readonly areas: readonly RestoredArea[];
  /** `none`: the copy had none at the moment. `no key`: it has them, and they were not restored. */
  readonly tokens: "restored" | "none" | "no key";
}

/** So many objects are fetched at once: parts are small, and each request takes some time. */
const FETCH_COUNT = 8;
const FILE_MODE = 0o600;

/**
 * Rejects with `DamagedCopy` or `UnusableCopy`, as the store does, or with the system's error; then no file has its final
 * name in `directory`.
 */
export async function restoreCopy(options: CopyRestoreOptions): Promise<CopyRestored> {
  const { store, disk, directory, staging, areas, atMs, onBytes, engineOf } = options;
  const view = await readGenerationAt(store, atMs);
  for (const area of view.areas.keys())
    if (!areas.includes(area)) throw new UnusableCopy(`it has an unknown area: ${area}`);
  const plans = await planMoment(view, notesIn(store, view.generation), atMs);
  await disk.mkdir(staging);
  for (const { name } of plans) await disk.mkdir(`${staging}/${name}`);
  await disk.syncDirectory(directory);

  const staged = new Staging(options, view, plans);
  // First, because a wrong key must not be noticed after everything else was fetched.
  const tokens = await staged.tokens(view);
  for (const plan of plans) await staged.area(plan);
  await staged.text(DIRECTORY_ID_FILE, directoryIdLine(view.begin.directory));
  await staged.text(FORMAT_FILE, view.begin.format);
  await checkDataDirectory(disk, staging, []);
  const reports: RestoredArea[] = [];
  for (const { name: area, completeToMs } of plans) {
    const report = await inspectArea({
      ...{ disk, directory: areaDirectory(staging, area), area, onBytes },
      engine: engineOf?.(area),
    });
    if (report.fault !== undefined) throw new UnusableCopy(report.fault);
    reports.push({ ...report, completeToMs });
  }
  await nameStagedFiles(disk, { directory, staging, names: staged.names });
  return { generation: view.generation, areas: reports, tokens };
}

class Staging {
  /** In the data directory. */
  readonly names: string[] = [];
  readonly #options: CopyRestoreOptions;
  readonly #generation: number;
  readonly #progress: ByteProgress;

  constructor(options: CopyRestoreOptions, { generation }: GenerationView, plans: readonly AreaPlan[]) {
    this.#options = options;
    this.#generation = generation;
    const bytes = plans.flatMap(objectsOf).reduce((sum, object) => sum + object.bytes, 0);
    this.#progress = new ByteProgress("files", bytes, options.onBytes);
  }

  async area({ name: area, snapshot, segments, covered, history }: AreaPlan): Promise<void> {
    if (snapshot !== undefined) await this.#whole(`${area}/${fileName("snapshot", snapshot.number)}`, snapshot.object);
    for (const segment of covered) await this.#segment(area, segment);
    for (const segment of segments) {
      await this.#segment(area, segment);
      if (!segment.isEnded) await this.#end(area, segment); // keeps (1)
    }
    if (history !== undefined) await this.#whole(`${area}/${this.#options.historyFile}`, history);
  }

  /** The newest tokens of the moment. */
  async tokens({ tokens, begin }: GenerationView): Promise<CopyRestored["tokens"]> {
    const { store, key, atMs = Number.POSITIVE_INFINITY } = this.#options;
    const newest = tokens.findLast(({ timeMs }) => timeMs <= Math.max(atMs, begin.timeMs))?.object;
    if (newest === undefined) return "none";
    if (key === undefined) return "no key";
    const parts: Buffer[] = [];
    await fetchObject(store, newest, (part) => void parts.push(part));
    const bytes = key.open(Buffer.concat(parts), begin.directory);
    if (bytes === undefined) throw new UnusableCopy("its tokens were sealed with another key");
    await this.#file(TOKENS_FILE, (file) => writeFully(file, bytes, 0));
    return "restored";
  }

  text(name: string, text: string): Promise<void> {
    return this.#file(name, (file) => writeFully(file, Buffer.from(text, "latin1"), 0));
  }

  #whole(name: string, object: ListedObject): Promise<void> {
    return this.#file(name, (file) => this.#fetch(object, file, 0));
  }

  #segment(area: string, segment: PlannedSegment): Promise<void> {
    const { number, end, pieces } = segment;
    return this.#file(`${area}/${fileName("segment", number)}`, async (file) => {
      try {
        await inParallel(pieces, FETCH_COUNT, ({ object, start }) => this.#fetch(object, file, start));
      } catch (error) {
        // keeps (2)
        const whole = error instanceof DamagedCopy ? await this.#findWhole(area, segment) : undefined;
        if (whole === undefined) throw error;
        await this.#fetch(whole, file, 0);
      }
      if ((await file.size()) > end) await file.truncate(end);
    });
  }

  /** The object in which a segment is now that was planned from parts. */
  async #findWhole(area: string, { number, salt, pieces }: PlannedSegment): Promise<ListedObject | undefined> {
    const listed = await listAll(this.#options.store, `${generationPrefix(this.#generation)}${area}/segment/`);
    return listed.find(({ name: text }) => {
      const name = parseObjectName(text)?.name;
      const isWhole = name?.kind === "segment" && name.number === number && name.salt === salt;
      return isWhole && pieces.every(({ object }) => object.name !== text);
    });
  }

  async #fetch(object: ListedObject, file: DiskFile, start: number): Promise<void> {
    await fetchObject(this.#options.store, object, async (part, offset) => {
      await writeFully(file, part, start + offset);
      this.#progress.add(part.length);
    });
  }

  /** keeps (1) */
  async #end(area: string, { number, end }: PlannedSegment): Promise<void> {
    const { disk, staging } = this.#options;
    const path = `${staging}/${area}/${fileName("segment", number)}`;
    const file = await disk.open(path, "update");
    await withFile(file, async () => {
      const head = Buffer.alloc(FILE_HEADER_BYTES);
      await readFully(file, head, 0);
      const header = parseFileHeader(head, { kind: "segment", path, area, number });
      const { position, end: why } = await readItems(
        { file, size: end, number, salt: header.salt, markWord: BATCH_WORD },
        { frame: () => {}, mark: (mark, at) => (mark.position === at.position ? "go on" : "stop") },
        { offset: FILE_HEADER_BYTES, position: header.position },
      );
      if (why !== "end of file") throw new DamagedCopy(`${area}: segment ${number}`, "its frames cannot be read");
      await new SegmentWriter(file, header, end).end(position);
      await file.fsync();
    });
  }

  async #file(name: string, write: (file: DiskFile) => Promise<void>): Promise<void> {
    const { disk, staging } = this.#options;
    await withFile(await disk.open(`${staging}/${name}`, "create", FILE_MODE), async (file) => {
      await write(file);
      await file.fsync();
    });
    this.names.push(name);
  }
}

/** Directories with the files of an area, as a command stages them: from frames, or as a new shard. */
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { segmentPath, snapshotPath } from "../../src/persistence/area-files.ts";
import { areaDirectory } from "../../src/persistence/data-directory.ts";
import { FrameFileWriter, type NewFile } from "../../src/persistence/frame-file-writer.ts";
import type { AreaName } from "../../src/program/areas/area.ts";
import { ShardFiles } from "../../src/program/cluster/administer/import/shard-files.ts";

const SALT = 7;

export interface StagedArea<Area extends AreaName = AreaName> {
  readonly area: Area;
  readonly directory: string;
}

export class StagedAreas {
  readonly #root: string;
  #count = 0;

  constructor(context: TestContext) {
    this.#root = mkdtempSync(join(tmpdir(), "larder-staged-"));
    context.after(() => rmSync(this.#root, { recursive: true, force: true }));
  }

  /** The files of an area whose frames are these: those of a snapshot, and those after it. */
  async write<Area extends AreaName>(
    area: Area,
    snapshot: Iterable<Uint8Array> | undefined,
    frames: Iterable<Uint8Array>,
  ): Promise<StagedArea<Area>> {
    const staged = this.#next(area);
    const own = areaDirectory(staged.directory, area);
    const number = snapshot === undefined ? 1 : 2;
    const file = { area, number, position: 0, salt: SALT };
    if (snapshot !== undefined)
      writeFileSync(snapshotPath(own, number), await bytesOf({ ...file, kind: "snapshot" }, snapshot));
    writeFileSync(segmentPath(own, number), await bytesOf({ ...file, kind: "segment" }, frames));
    return staged;
  }

  /** An empty area, and what writes its files. */
  begin<Area extends AreaName>(area: Area): { readonly staged: StagedArea<Area>; readonly files: ShardFiles } {
    const staged = this.#next(area);
    const own = areaDirectory(staged.directory, area);
    const files = new ShardFiles({
      nameInFiles: area,
      saltOf: () => SALT,
      rows: {
        async put({ kind, number }, start, bytes) {
          const path = kind === "segment" ? segmentPath(own, number) : snapshotPath(own, number);
          const file = openSync(path, start === 0 ? "w" : "r+");
          writeSync(file, bytes, 0, bytes.length, start);
          closeSync(file);
        },
        async end() {},
      },
    });
    return { staged, files };
  }

  #next<Area extends AreaName>(area: Area): StagedArea<Area> {
    this.#count += 1;
    const directory = join(this.#root, String(this.#count));
    mkdirSync(areaDirectory(directory, area), { recursive: true });
    return { area, directory };
  }
}

async function bytesOf(file: NewFile, frames: Iterable<Uint8Array>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const writer = await FrameFileWriter.begin({ append: async (bytes) => void pieces.push(Buffer.from(bytes)) }, file);
  for (const frame of frames) {
    if (file.kind === "snapshot") await writer.frame(frame);
    else await writer.batch([frame]);
  }
  await writer.end();
  return Buffer.concat(pieces);
}

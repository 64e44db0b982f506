/**
 * Divides the frames of the store or of the index between shards. A frame belongs
 * to one tenant, whose number is its first field, so each goes where its tenant
 * is, as it is; nothing is loaded. A frame of the area itself, which creates and
 * drops tenants, is written again for each shard with the changes of its tenants.
 *
 * (1) The snapshot of a shard has the frames of the area's snapshot, and its
 *     segments those of the segments after it: in one that a start takes for new
 *     keys, no key is twice.
 * (2) Frames of tenants that were dropped are left out. So no frame names their
 *     numbers, and a shard may use them again.
 */
import { FrameReader, FrameWriter } from "../../../../kernel/frame.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { readArea } from "../../../../persistence/recovery.ts";
import { readDatabaseChanges, writeDatabaseChange } from "../../../../store/mod.ts";
import { readChanges, writeChange } from "../../../../vector/index/mod.ts";
import { inspectedEngineOf } from "../../../areas/inspect-area.ts";
import { type AreaSplit, type AreaTenant, FIRST_SNAPSHOT, type SplitWriting } from "./area-split.ts";
import type { ShardFiles } from "./shard-files.ts";

/** In place of the number of a tenant. */
export const AREA_ITSELF = 0;

export interface TenantChange {
  readonly number: number;
  /** Of a new tenant; undefined: it was dropped. */
  readonly name: string | undefined;
  /** With another number than `number`, if it is given. */
  write(frame: FrameWriter, as?: number): void;
}

export type SplitArea = "store" | "vector";

/** The tenants that a frame of the area itself creates and drops. */
export const changesOf: Readonly<Record<SplitArea, (frame: Buffer) => Generator<TenantChange>>> = {
  *store(frame) {
    for (const change of readDatabaseChanges(frame))
      yield {
        ...change,
        write: (writer, number = change.number) => writeDatabaseChange(writer, { ...change, number }),
      };
  },
  *vector(frame) {
    for (const change of readChanges(frame)) {
      // `next index` keeps numbers of dropped indexes from being used again, which (2) makes needless.
      if (change.kind !== "create index" && change.kind !== "drop index") continue;
      const name = change.kind === "create index" ? change.name : undefined;
      yield {
        number: change.index,
        name,
        write: (writer, index = change.index) => writeChange(writer, { ...change, index }),
      };
    }
  },
};

/** For an area without other frames than those of one tenant, or of the area itself. */
export function openFrameSplit(area: SplitArea): AreaSplit {
  const checked = inspectedEngineOf(area);
  const bytes = new Map<number, number>();
  const names = new Map<number, string>();
  return {
    replay(frame, place) {
      checked?.replay(frame, place);
      const tenant = tenantOf(frame);
      bytes.set(tenant, (bytes.get(tenant) ?? 0) + frame.length);
      if (tenant !== AREA_ITSELF) return;
      for (const { number, name } of changesOf[area](frame)) {
        if (name === undefined) names.delete(number);
        else names.set(number, name);
      }
    },
    neededSegments: () => [],
    tenants: () => [...names].map(([number, name]): AreaTenant => ({ number, name, bytes: bytes.get(number) ?? 0 })),
    write: (writing) => writeFrames(area, writing),
  };
}

async function writeFrames(area: SplitArea, writing: SplitWriting): Promise<void> {
  const { directory, position, files, shardOf, onBytes } = writing;
  const writers = new Map(Array.from(files, ([shard, each]) => [shard, new FrameFiles(each, position)]));
  const writerOf = (tenantNumber: number): FrameFiles | undefined => {
    const shard = shardOf(tenantNumber);
    return shard === undefined ? undefined : writers.get(shard); // keeps (2)
  };
  // The end of a file is not awaited, so the next part may be read while the last one of a file is written.
  let written = Promise.resolve();
  const faults: unknown[] = [];
  const flush = (): Promise<void> => {
    written = written.then(async () => {
      try {
        for (const writer of writers.values()) if (faults.length === 0) await writer.flush();
      } catch (fault) {
        faults.push(fault);
      }
    });
    return written;
  };
  const apply = (frame: Buffer, place: { readonly segment: number } | undefined): void => {
    if (faults.length > 0) throw faults[0];
    const number = tenantOf(frame);
    if (number !== AREA_ITSELF) {
      writerOf(number)?.take(frame, place?.segment);
      return;
    }
    const parts = new Map<FrameFiles, FrameWriter>();
    for (const change of changesOf[area](frame)) {
      const writer = writerOf(change.number);
      if (writer === undefined) continue;
      const part = parts.get(writer) ?? new FrameWriter();
      parts.set(writer, part);
      change.write(part);
    }
    for (const [writer, part] of parts) writer.take(part.take(), place?.segment);
  };
  const onProgress = (done: number, total: number): void => onBytes(area, done, total);
  await readArea({ disk: fileDisk, directory, area, apply, settle: flush, onProgress });
  await flush();
  if (faults.length > 0) throw faults[0];
  for (const writer of writers.values()) await writer.end();
}

export function tenantOf(frame: Buffer): number {
  return new FrameReader(frame).number();
}

/** The snapshot of a shard and then its segments: one for each segment of the area that has frames of the shard. */
class FrameFiles {
  readonly #files: ShardFiles;
  readonly #position: number;
  #waiting: { readonly frame: Buffer; readonly segment: number | undefined }[] = [];
  /** The segment of the area whose frames are written now; undefined: those of its snapshot. */
  #segment: number | undefined;

  constructor(files: ShardFiles, position: number) {
    this.#files = files;
    this.#position = position;
  }

  /** Copies a frame, which `flush` writes. */
  take(frame: Uint8Array, segment: number | undefined): void {
    this.#waiting.push({ frame: Buffer.from(frame), segment });
  }

  async flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let start = 0; start < waiting.length; ) {
      const segment = waiting[start]?.segment;
      const rest = waiting.slice(start);
      const other = rest.findIndex((each) => each.segment !== segment);
      const frames = rest.slice(0, other === -1 ? rest.length : other).map(({ frame }) => frame);
      await this.#goTo(segment);
      if (segment !== undefined) await this.#files.writer.batch(frames);
      else for (const frame of frames) await this.#files.writer.frame(frame);
      start += frames.length;
    }
  }

  /** Completes the files, after a `flush`. A shard without a frame gets no file. */
  async end(): Promise<void> {
    if (this.#files.file === undefined) return;
    // The segment after a snapshot always exists.
    if (this.#segment === undefined) await this.#goTo(0);
    await this.#files.end();
  }

  /** keeps (1) */
  async #goTo(segment: number | undefined): Promise<void> {
    const files = this.#files;
    if (files.file === undefined)
      await files.begin({ kind: "snapshot", number: FIRST_SNAPSHOT, position: this.#position });
    if (segment === this.#segment) return;
    this.#segment = segment;
    const number = files.file?.kind === "segment" ? files.file.number + 1 : FIRST_SNAPSHOT;
    await files.begin({ kind: "segment", number, position: await files.end() });
  }
}

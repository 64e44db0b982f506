/**
 * The content of one database or index, from the files of its shard: an engine
 * that has nothing else.
 *
 * (1) Two images with the same checksum have the same keys or records, in the same
 *     order, with the same values: it is that of the frames of a snapshot of the
 *     engine, which says nothing of how the content came about.
 * (2) The tenant has a number that its new shard has not used. So nothing that is
 *     kept beside a journal by number, such as files of graphs, is taken for its own.
 */
import { createHash } from "node:crypto";
import { systemClock } from "../../../../kernel/clock.ts";
import { FrameReader, FrameWriter } from "../../../../kernel/frame.ts";
import { NullJournal } from "../../../../kernel/journal.ts";
import { systemRandom } from "../../../../kernel/random.ts";
import { areaDirectory } from "../../../../persistence/data-directory.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { readArea } from "../../../../persistence/recovery.ts";
import { Store } from "../../../../store/mod.ts";
import { VectorEngine } from "../../../../vector/index/mod.ts";
import { defaultVectorLimits } from "../../../../vector/mod.ts";
import { FIRST_SNAPSHOT } from "../import/area-split.ts";
import { AREA_ITSELF, changesOf, type SplitArea, tenantOf } from "../import/frame-split.ts";
import { nextFileOf, type ShardOutline, type TenantImage, type WantedTenant } from "./tenant-image.ts";

export interface FrameImage extends TenantImage {
  /** Keys of a database, records of an index. */
  readonly items: number;
  /** Each is valid until the next one is requested. */
  frames(): Iterable<Uint8Array>;
}

export interface FramePlace {
  readonly area: SplitArea;
  /** With the area, as `fetchShard` copies it. */
  readonly directory: string;
}

/** Reads a shard without its tenants. Rejects with the errors of `readArea`. */
export async function readFrameOutline({ area, directory }: FramePlace): Promise<ShardOutline> {
  const names = new Map<number, string>();
  let lastTenant = AREA_ITSELF;
  const read = await readArea({
    ...{ disk: fileDisk, directory: areaDirectory(directory, area), area },
    apply(frame) {
      const number = tenantOf(frame);
      lastTenant = Math.max(lastTenant, number);
      if (number !== AREA_ITSELF) return;
      for (const { number: subject, name } of changesOf[area](frame)) {
        lastTenant = Math.max(lastTenant, subject);
        if (name === undefined) names.delete(subject);
        else names.set(subject, name);
      }
    },
  });
  return {
    names: [...names.values()],
    position: read.position,
    nextFile: nextFileOf(read),
    nextTenant: lastTenant + 1,
    lastMessage: 0,
  };
}

/** `number`: keeps (2). Undefined if the shard has nothing of the tenant. Rejects with the errors of `readArea`. */
export async function readFrameImage(
  { area, directory }: FramePlace,
  { name, number }: Omit<WantedTenant, "lastMessage">,
): Promise<FrameImage | undefined> {
  const engine = engines[area]();
  const writer = new FrameWriter();
  /** In this shard. */
  let own: number | undefined;
  await readArea({
    ...{ disk: fileDisk, directory: areaDirectory(directory, area), area },
    apply(frame, location) {
      const tenant = tenantOf(frame);
      if (tenant !== AREA_ITSELF) {
        if (tenant === own) engine.replay(renumbered(frame, number), location);
        return;
      }
      for (const change of changesOf[area](frame)) {
        if (change.name === name) own = change.number;
        else if (change.number !== own || change.name !== undefined) continue;
        else own = undefined;
        change.write(writer, number);
        engine.replay(writer.take(), location);
      }
    },
    endSnapshot: () => engine.endSnapshot(),
  });
  engine.end();
  if (own === undefined) {
    engine.close();
    return undefined;
  }
  const hash = createHash("sha256");
  let bytes = 0;
  for (const frame of engine.dump()) {
    hash.update(`${frame.length} `).update(frame);
    bytes += frame.length;
  }
  const items = engine.items();
  return {
    items,
    contents: `${items} ${area === "store" ? "keys" : "records"}`,
    bytes,
    checksum: hash.digest("hex"),
    log: undefined,
    frames: () => engine.dump(),
    async write(files, { nextFile, position }) {
      const snapshot = Math.max(FIRST_SNAPSHOT, nextFile);
      await files.begin({ kind: "snapshot", number: snapshot, position });
      for (const frame of engine.dump()) await files.writer.frame(frame);
      await files.begin({ kind: "segment", number: snapshot, position: await files.end() });
      await files.end();
    },
    close: () => engine.close(),
  };
}

interface ImageEngine {
  replay(frame: Buffer, location: object | undefined): void;
  /** After the last frame of a snapshot. */
  endSnapshot(): void;
  /** After the last frame. */
  end(): void;
  dump(): Iterable<Uint8Array>;
  items(): number;
  close(): void;
}

const engines: Readonly<Record<SplitArea, () => ImageEngine>> = {
  store() {
    const store = new Store({ clock: systemClock, random: systemRandom, hashSeed: new Uint8Array(8) });
    store.beginRecovery();
    return {
      replay: (frame, location) => store.replay(frame, location),
      endSnapshot: () => store.endSnapshot(),
      end: () => store.endRecovery(),
      dump: () => store.dump(),
      items: () => store.databases.reduce((sum, { keyspace }) => sum + keyspace.size, 0),
      close: () => {},
    };
  },
  vector() {
    const engine = new VectorEngine({
      ...{ journal: new NullJournal(), clock: systemClock, random: systemRandom, limits: defaultVectorLimits },
      graphs: undefined,
      newHandle: () => "",
    });
    return {
      replay: (frame) => engine.replay(frame),
      endSnapshot: () => {},
      end: () => {},
      dump: () => engine.dump(),
      items: () =>
        [...engine.indexes].reduce((sum, index) => {
          const { vectorCount, pendingVectorCount } = index.info();
          return sum + vectorCount + pendingVectorCount;
        }, 0),
      close: () => engine.close(),
    };
  },
};

/** A frame of a tenant with another number: its first field. It may be the same buffer. */
export function renumbered(frame: Buffer, number: number): Buffer {
  const reader = new FrameReader(frame);
  if (reader.number() === number) return frame;
  return Buffer.concat([varint(number), frame.subarray(reader.offset)]);
}

function varint(number: number): Buffer {
  const bytes: number[] = [];
  let rest = number;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  return Buffer.from([...bytes, rest]);
}

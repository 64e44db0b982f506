/** An area on a simulated disk, for the unit tests of `persistence/`: frames are strings, time is virtual. */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { nextTurn } from "../../src/kernel/turn.ts";
import { type AreaStorage, type AreaStorageOptions, openAreaStorage } from "../../src/persistence/area-storage.ts";
import { type AreaRead, readArea } from "../../src/persistence/recovery.ts";
import { SimulatedDisk } from "../simulation/disk/simulated-disk.ts";

export const AREA = "store";
export const DIRECTORY = "/store";

/** An empty disk with the area's directory. */
export async function emptyDisk(seed = 1): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed });
  await disk.mkdir(DIRECTORY);
  await disk.syncDirectory("/");
  return disk;
}

export interface OpenedArea {
  readonly area: AreaStorage;
  readonly clock: VirtualClock;
  /** The frames that recovery applied. */
  readonly frames: readonly string[];
  /** The error passed to `onFatal`. */
  readonly fatal: readonly unknown[];
}

/** Opens the area, without a disk reserve unless the options require one. */
export async function openOn(disk: SimulatedDisk, options: Partial<AreaStorageOptions> = {}): Promise<OpenedArea> {
  const clock = new VirtualClock();
  const frames: string[] = [];
  const fatal: unknown[] = [];
  const area = await openAreaStorage({
    disk,
    directory: DIRECTORY,
    area: AREA,
    mode: "always",
    clock,
    random: seededRandom(7),
    log: silentLog,
    reserveBytes: 0,
    onFatal: (error) => fatal.push(error),
    apply: (frame) => frames.push(frame.toString("latin1")),
    ...options,
  });
  return { area, clock, frames, fatal };
}

/** Appends strings and waits until they are durable. */
export async function appendSafely({ area: { journal } }: OpenedArea, ...texts: string[]): Promise<void> {
  for (const text of texts) journal.append(Buffer.from(text, "latin1"));
  await journal.whenSafe(journal.end);
}

/** Runs started work for a few turns of the event loop. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await nextTurn();
}

/** The files in the area's directory. */
export function filesOf(disk: SimulatedDisk): readonly string[] {
  return disk.paths.filter((path) => path.startsWith(`${DIRECTORY}/`)).sort();
}

/** Reads the area without changing it. */
export async function readOn(disk: SimulatedDisk): Promise<AreaRead & { frames: string[] }> {
  const frames: string[] = [];
  const apply = (frame: Buffer): void => {
    frames.push(frame.toString("latin1"));
  };
  return { ...(await readArea({ disk, directory: DIRECTORY, area: AREA, apply })), frames };
}

/**
 * Compares what a start finds after a crash with what was promised.
 *
 * (1) The recovered position is at least what was promised, at most what was
 *     appended, and the state is the one noted for it: nothing promised is
 *     lost, nothing is invented, and no unit of work is there in part.
 * (2) A recovered state survives any later power cut.
 * (3) Damaged files are refused by name, or the state found is right and holds
 *     everything that an undamaged mark calls durable.
 * (4) The loss of a segment, or of its contents, is noticed if something durable
 *     says that it was begun: a snapshot with its number, a later segment, the
 *     high-water mark.
 */
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { listAreaFiles, segmentPath } from "../../../src/persistence/area-files.ts";
import { DamagedData, MissingData, NewerFormat, WrongFile } from "../../../src/persistence/errors.ts";
import { readHighWater } from "../../../src/persistence/journal/high-water.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";
import { statedPosition } from "../disk/file-map.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { type Backup, DIRECTORY, type Harness, startServer } from "../server.ts";
import { type CrashState, CrashViolation } from "./life.ts";
import { differenceOf } from "./state-text.ts";
import type { Subject } from "./subject.ts";

/** How long the server was down: long enough for keys to expire. */
const DOWN_MS_MAX = 5_000;
const AGAIN_ONE_IN = 6;
const BACKUP_ONE_IN = 4;
const FLIPS_MAX = 2;

export interface Recovery {
  readonly position: number;
  /** The age of the oldest lost acknowledgement in ms; undefined if none was lost. */
  readonly lostMs: number | undefined;
}

/** How to recover from a crash. */
export interface Restart<Engine extends SnapshotEngine, State> {
  readonly subject: Subject<Engine, State>;
  readonly harness: Harness<Engine>;
}

/** Recovers what a crash left. Rejects with a `CrashViolation` if (1) or (2) does not hold. */
export async function checkCrashState<Engine extends SnapshotEngine, State>(
  state: CrashState<State>,
  restart: Restart<Engine, State>,
  random: Random,
): Promise<Recovery> {
  const { disk, promised, end, told, monotonicMs } = state;
  for (const backup of state.backups) {
    if (random.below(BACKUP_ONE_IN) === 0) await checkBackup(state, backup, restart);
  }
  const found = await recovered(disk, state, restart).catch((error: unknown) => {
    throw new CrashViolation(`${describe(state)}\nThe start failed`, { cause: error });
  });
  const { position } = found;
  if (position < promised.kill) throw new CrashViolation(`${describe(state)}\nFound only position ${position}`);
  if (position > end)
    throw new CrashViolation(`${describe(state)}\nFound position ${position}, which was never appended`);
  assertState(found, textAt(state, position, restart), describe(state));
  if (random.below(AGAIN_ONE_IN) === 0) {
    const again = await recovered(disk.afterPowerCut(random), state, restart);
    if (again.position !== position || again.state !== found.state) {
      throw new CrashViolation(
        `${describe(state)}\nFound position ${position}, and after another power cut ${again.position}`,
      );
    }
  }
  const lostAtMs = told.firstBeyond(position, monotonicMs);
  return { position, lostMs: lostAtMs === undefined ? undefined : monotonicMs - lostAtMs };
}

/** Starts a server on a backup, which does not touch the files of the area itself. */
async function checkBackup<Engine extends SnapshotEngine, State>(
  state: CrashState<State>,
  backup: Backup,
  restart: Restart<Engine, State>,
): Promise<void> {
  const { directory, position } = backup;
  const text = `${describe(state)}\nThe backup ${directory} of position ${position}`;
  const found = await recovered(state.disk, { ...state, directory }, restart).catch((error: unknown) => {
    throw new CrashViolation(`${text} does not start`, { cause: error });
  });
  if (found.position < position) throw new CrashViolation(`${text} holds only position ${found.position}`);
  assertState(found, textAt(state, found.position, restart), text);
}

/**
 * Flips bits of what a life left on its disk and starts on that. Resolves with true if the start was refused. Rejects
 * with a `CrashViolation` if (3) does not hold.
 */
export async function checkDamage<Engine extends SnapshotEngine, State>(
  state: CrashState<State>,
  restart: Restart<Engine, State>,
  random: Random,
): Promise<boolean> {
  const disk = state.disk.restarted({ seed: random.below(2 ** 32) });
  const paths = disk.paths.filter((path) => path.startsWith(`${DIRECTORY}/`));
  const flipped = new Map<string, number[]>();
  for (let count = 1 + random.below(FLIPS_MAX); count > 0; count -= 1) {
    const path = paths[random.below(paths.length)];
    const length = path === undefined ? 0 : disk.bytesOf(path).length;
    if (path === undefined || length === 0) continue;
    const offset = random.below(length);
    disk.flipBit(path, offset, random.below(8));
    flipped.set(path, [...(flipped.get(path) ?? []), offset]);
  }
  const text = `${[...flipped].map(([path, offsets]) => `Bits flipped in ${path} at ${offsets.join()}`).join("\n")}`;
  // A later flip may undo an earlier one, and the marks are read from the undamaged file.
  const segments = paths.filter((path) => path.endsWith(".journal"));
  const floor = Math.max(0, ...segments.map((path) => statedPosition(state.disk.bytesOf(path), flipped.get(path))));
  let found: Awaited<ReturnType<typeof recovered>>;
  try {
    found = await recovered(disk, state, restart);
  } catch (error) {
    if (isRefusal(error)) return true;
    throw new CrashViolation(`${describe(state)}\n${text}\nThe start failed without a refusal by name`, {
      cause: error,
    });
  }
  if (found.position < floor || found.position > state.end) {
    throw new CrashViolation(`${describe(state)}\n${text}\nFound ${found.position}, marks call ${floor} durable`);
  }
  assertState(found, textAt(state, found.position, restart), `${describe(state)}\n${text}`);
  return false;
}

/**
 * Removes or empties a segment that a life left, and starts on that. Resolves with true if the start was refused.
 * Rejects with a `CrashViolation` if (4) does not hold.
 */
export async function checkLoss<Engine extends SnapshotEngine, State>(
  state: CrashState<State>,
  restart: Restart<Engine, State>,
  random: Random,
): Promise<boolean> {
  const disk = state.disk.restarted({ seed: random.below(2 ** 32) });
  const { segments, snapshots } = await listAreaFiles(disk, DIRECTORY);
  const lost = random.below(2) === 0 ? segments.at(-1) : segments[random.below(segments.length)];
  if (lost === undefined) return false;
  const isEmptied = random.below(2) === 0;
  const { mark } = await readHighWater(disk, DIRECTORY);
  const needed = snapshots.at(-1) ?? 1;
  const begun = Math.max(snapshots.at(-1) ?? 0, mark.segment, ...segments.map((number) => number - 1));
  if (isEmptied) disk.put(segmentPath(DIRECTORY, lost), Buffer.alloc(0));
  else disk.remove(segmentPath(DIRECTORY, lost));
  const text = `${describe(state)}\nSegment ${lost} was ${isEmptied ? "emptied" : "removed"}`;
  let found: Awaited<ReturnType<typeof recovered>>;
  try {
    found = await recovered(disk, state, restart);
  } catch (error) {
    if (isRefusal(error)) return true;
    throw new CrashViolation(`${text}\nThe start failed without a refusal by name`, { cause: error });
  }
  if (lost >= needed && lost <= begun) throw new CrashViolation(`${text}\nThe loss was not noticed`);
  assertState(found, textAt(state, found.position, restart), text);
  return false;
}

/** Whether this error names what is wrong with a data directory. */
export function isRefusal(error: unknown): error is DamagedData | MissingData | NewerFormat | WrongFile {
  const kinds = [DamagedData, MissingData, NewerFormat, WrongFile];
  return kinds.some((kind) => error instanceof kind);
}

interface Found {
  readonly position: number;
  readonly state: string;
}

async function recovered<Engine extends SnapshotEngine, State>(
  disk: SimulatedDisk,
  { wallMs, directory = DIRECTORY }: { readonly wallMs: number; readonly directory?: string },
  { subject, harness }: Restart<Engine, State>,
): Promise<Found> {
  const random = seededRandom(wallMs);
  const clock = new VirtualClock(wallMs + random.below(DOWN_MS_MAX));
  const onFatal = (): void => {};
  const options = { subject, disk, directory, clock, random, mode: "always", harness, onFatal } as const;
  const { area, engine } = await startServer(options);
  return { position: area.recovered.position, state: subject.stateOf(engine) };
}

function textAt<Engine extends SnapshotEngine, State>(
  { history }: CrashState<State>,
  position: number,
  { subject }: Restart<Engine, State>,
): string | undefined {
  const state = history.stateAt(position);
  return state === undefined ? undefined : subject.textOf(state);
}

function assertState(found: Found, expected: string | undefined, text: string): void {
  if (expected === undefined) throw new CrashViolation(`${text}\nFound part of a unit of work at ${found.position}`);
  if (found.state !== expected) {
    const difference = differenceOf(expected, found.state);
    throw new CrashViolation(
      `${text}\nThe state at position ${found.position} differs from the served one\n${difference}`,
    );
  }
}

function describe({ isPowerCut, when, promised, end, disk }: CrashState<unknown>): string {
  const files = disk.paths.map((path) => `${path.replace(`${DIRECTORY}/`, "")} (${disk.bytesOf(path).length} bytes)`);
  return `${isPowerCut ? "Power cut" : "Kill"} ${when}: at least position ${promised.kill} of ${end} was promised; ${files.join(", ")}`;
}

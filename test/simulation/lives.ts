/**
 * The lives of a run: each begins on what the one before left on the disk. The
 * loop is the same for every engine; what a life does, how it ends and what must
 * hold then is its port.
 *
 *     empty disk -> life -> crash or stop -> life on what is left -> … -> the last life
 */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { Random } from "../../src/kernel/random.ts";
import { SimulatedDisk } from "./disk/simulated-disk.ts";
import { DIRECTORY } from "./server.ts";

/** What a life begins with. */
export interface Start {
  /** Stepped. */
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly seed: number;
}

/** What a life leaves. */
export interface Left {
  readonly disk: SimulatedDisk;
  /** The wall clock at the next start. */
  readonly wallMs: number;
}

export interface LifePort {
  /** Number of lives. */
  readonly lives: number;
  /** Lives once, with all checks. `start` draws from the random of the run when it is called. */
  live(start: () => Start, isLast: boolean): Promise<Left>;
}

/** Rejects with the first violation. */
export async function runLives({ lives, live }: LifePort, random: Random): Promise<void> {
  let left: Left = { disk: await emptyDisk(), wallMs: new VirtualClock().nowMs() };
  for (let number = 1; number <= lives; number += 1) {
    const { disk, wallMs } = left;
    const start = (): Start => ({
      disk: disk.restarted({ seed: random.below(2 ** 32), isStepped: true }),
      clock: new VirtualClock(wallMs),
      seed: random.below(2 ** 32),
    });
    left = await live(start, number === lives);
  }
}

async function emptyDisk(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ seed: 0 });
  await disk.mkdir(DIRECTORY);
  await disk.syncDirectory("/");
  return disk;
}

/** The disk after a crash: one of three is a kill, the others are power cuts. */
export function crashed(disk: SimulatedDisk, random: Random): SimulatedDisk {
  return random.below(3) === 0 ? disk.afterKill(random) : disk.afterPowerCut(random);
}

/**
 * Kills the real program again and again, and checks whether it kept what it
 * acknowledged. The loop is the same for each area; what clients send and what a
 * restarted server must hold is in the area's port.
 *
 *     life:  start -> (load -> end -> start -> check) … -> check everything
 *
 * A data directory serves several rounds, so a server also recovers from what
 * earlier recoveries left. The seed fixes how and when a server ends and what
 * clients draw, but not how the machine times it. So a failing seed is likely to
 * fail again, not certain; the data directory of a failure remains for
 * `larder check --data-dir`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import type { Allowance } from "../../budget.ts";
import { type RunningProgram, startProgram } from "../../program/program-process.ts";
import { type KilledStart, type KillGround, openGround } from "./ground.ts";

export interface KillOptions {
  readonly allowance: Allowance;
  readonly seed: number;
  readonly print: (line: string) => void;
}

/** A data directory with the servers that serve it in sequence. */
export interface Beginning {
  readonly directory: string;
  readonly ground: KillGround;
  /** Number of the round in the life, from 0. */
  readonly number: number;
  readonly random: Random;
}

/** The restarted server, and what is wrong with its contents. */
export interface RoundEnd<Damage> {
  readonly server: RunningProgram;
  readonly damages: readonly Damage[];
}

/** The part of the loop that is specific to an area. */
export interface KillPort<Life, Damage> {
  /** Prefix of the names of data directories. */
  readonly name: string;
  readonly roundsOfALife: number;
  /** With an allowance of time: the time that the round under way and the last check still take. */
  readonly endMs: number;
  begin(beginning: Beginning): Life | Promise<Life>;
  /** Starts the first server of the life, with everything that clients need. */
  start(life: Life): Promise<RunningProgram>;
  /** Loads the server, ends it, restarts it and checks it. Rejects if a start fails or a request is refused. */
  runRound(life: Life, server: RunningProgram, number: number): Promise<RoundEnd<Damage>>;
  /** What the life has acknowledged so far: its rounds go on until that is something. */
  acknowledgedCount(life: Life): number;
  /** Checks everything that the life acknowledged. */
  checkEverything(life: Life, server: RunningProgram): Promise<readonly Damage[]>;
  close(life: Life): void;
}

export interface KillSummary<Damage> {
  readonly rounds: number;
  readonly damages: readonly Damage[];
}

/** Starts `larder serve` in a process group of its own, and resolves when it serves. */
export async function startKilled(ground: KillGround, start: KilledStart): Promise<RunningProgram> {
  const server = await startProgram("serve", { ...ground.startOf(start), hasOwnGroup: true });
  await ground.untilServing(server);
  return server;
}

/** Runs rounds until the allowance is spent or something is wrong. Rejects if a start fails or a request is refused. */
export async function runKillRounds<Life, Damage>(
  port: KillPort<Life, Damage>,
  { allowance, seed, print }: KillOptions,
): Promise<KillSummary<Damage>> {
  const startMs = systemClock.monotonicMs();
  const damages: Damage[] = [];
  let rounds = 0;
  const isLeft = (): boolean =>
    "count" in allowance
      ? rounds < allowance.count
      : systemClock.monotonicMs() - startMs < allowance.budgetMs - port.endMs || rounds === 0;
  for (let number = 0; isLeft() && damages.length === 0; number += 1) {
    const directory = mkdtempSync(join(tmpdir(), `larder-${port.name}-kills-`));
    const ground = await openGround();
    const life = await port.begin({ directory, ground, number, random: seededRandom(seed * 1_000_003 + number) });
    let server: RunningProgram | undefined;
    try {
      server = await port.start(life);
      // On a busy machine the first kills may come before the first answer.
      const goesOn = (i: number): boolean => i === 0 || isLeft() || port.acknowledgedCount(life) === 0;
      for (let i = 0; i < port.roundsOfALife && goesOn(i) && damages.length === 0; i += 1) {
        const end: RoundEnd<Damage> = await port.runRound(life, server, rounds);
        server = end.server;
        damages.push(...end.damages);
        rounds += 1;
      }
      damages.push(...(await port.checkEverything(life, server)));
    } catch (cause) {
      throw new Error(`round ${rounds} of SEED=${seed} failed; data directory kept: ${directory}`, { cause });
    } finally {
      await server?.killGroup();
      port.close(life);
      await ground.close();
    }
    if (damages.length > 0)
      print(`life ${number}, round ${rounds - 1} of SEED=${seed}; data directory kept: ${directory}`);
    // The process of a snapshot may still be ending.
    else rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
  return { rounds, damages };
}

/**
 * How a server ends in a kill round, and when.
 *
 *     kill       SIGKILL while clients write
 *     group      the same, and the processes that the server started die with it
 *     start-up   SIGKILL, and more SIGKILLs while the next start is still recovering
 *     snapshot   SIGKILL while a snapshot is written; its process finds out a moment later
 *     saving     SIGTERM, and SIGKILL soon after, while a graph is written
 *     stop       SIGTERM under load: ends with code 0 and loses nothing either
 *
 * A SIGKILL loses nothing that was written, because the page cache belongs to
 * the machine. So no acknowledged write may be missing, whatever the setting.
 */
import { systemClock } from "../../../src/kernel/clock.ts";
import type { Random } from "../../../src/kernel/random.ts";
import { anyPorts, type RunningProgram, spawnProgram } from "../../program/program-process.ts";
import type { KillGround } from "./ground.ts";

export type Ending = "kill" | "group" | "start-up" | "snapshot" | "saving" | "stop";

/** Weights out of twenty; the rest are plain kills. The order is that of the draws. */
export type Shares = readonly (readonly [Ending, number])[];

const SHARES_SUM = 20;

/** The log line that announces the process that writes a snapshot. */
export const SNAPSHOT_STARTED: RegExp = /snapshot started/;

export function drawEnding(random: Random, shares: Shares): Ending {
  let left = random.below(SHARES_SUM);
  for (const [ending, share] of shares) {
    left -= share;
    if (left < 0) return ending;
  }
  return "kill";
}

/** How often each ending was drawn, as one text. */
export function describeEndings(counts: ReadonlyMap<Ending, number>): string {
  return [...counts].map(([ending, count]) => `${ending} ${count}`).join(", ");
}

/**
 * Waits for a moment: no event says when a machine kills a process. This is the only timer; only the moment of the
 * kill depends on it.
 */
export function moment(delayMs: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(delayMs, resolve));
}

/** Stops a server with SIGTERM. Rejects if it does not end with code 0. */
export async function stopCleanly(server: RunningProgram): Promise<void> {
  const { code, signal } = await server.stop();
  if (code !== 0) throw new Error(`SIGTERM ended with code ${code}, signal ${signal}\n${server.log}`);
}

export interface StartKills {
  readonly ground: KillGround;
  /** Arguments of the next start. */
  readonly args: () => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A start takes longer than this, so the kill is between the first line of code and the end of recovery. */
  readonly msMax: number;
  /** Whether the processes that it started die with it. */
  readonly isGroup: boolean;
}

/** Kills some starts of `larder serve` while they recover. */
export async function killStarts(random: Random, { ground, args, env, msMax, isGroup }: StartKills): Promise<void> {
  for (let left = 1 + random.below(ground.startKillsMax); left > 0; left -= 1) {
    const start = ground.startOf({ args: args(), ...(env && { env }) });
    const options = { env: { ...anyPorts, ...start.env }, hasOwnGroup: isGroup };
    const starting = spawnProgram(["serve", ...start.args], options);
    await moment(random.below(msMax));
    await (isGroup ? starting.killGroup() : starting.kill());
  }
}

/** A metric of the server, by its name without labels. */
export async function readMetric(server: RunningProgram, name: string): Promise<number> {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name}{`));
  if (line === undefined) throw new Error(`no metric ${name}`);
  return Number(line.slice(line.lastIndexOf(" ")));
}

/**
 * One round: let clients write to the real program, end it in some way at a
 * moment drawn from the seed, start it again and compare what it holds with
 * what it acknowledged.
 *
 *     kill       SIGKILL 5 to 800 ms after the clients started
 *     group      the same, and the processes that the server started die with it
 *     start-up   SIGKILL, then one to three SIGKILLs while the next start is still recovering
 *     snapshot   SIGKILL while a snapshot is being written; its process finds out a moment later
 *     stop       SIGTERM under load: ends with code 0 and loses nothing either
 *
 * A SIGKILL loses nothing that was written, because the page cache belongs to
 * the machine. So no acknowledged write may be missing, whatever the setting.
 */
import { systemClock } from "../../../src/kernel/clock.ts";
import type { Random } from "../../../src/kernel/random.ts";
import { anyPorts, type RunningProgram, spawnProgram, startProgram } from "../../program/program-process.ts";
import type { Endpoint } from "../post.ts";
import { fillUntil, runTogether, writeUntilLost } from "./clients.ts";
import type { Damage, Ledger } from "./ledger.ts";

export type Ending = "kill" | "group" | "start-up" | "snapshot" | "stop";

export const endings: readonly Ending[] = ["kill", "group", "start-up", "snapshot", "stop"];

export interface Life {
  readonly directory: string;
  readonly fsync: "always" | "everysec";
  readonly ledger: Ledger;
}

export interface Round {
  readonly ending: Ending;
  /** How the server runs that comes up again. */
  readonly threads: "one" | "per-area";
  readonly random: Random;
}

const WRITE_MS_MIN = 5;
const WRITE_MS_MAX = 800;
/** A start takes longer than this, so the kill hits it somewhere between the first line of code and the end of recovery. */
const START_KILL_MS_MAX = 400;
const START_KILLS_MAX = 3;
/** The line with which the process that writes a snapshot is announced. */
const SNAPSHOT_STARTED = /snapshot started/;
/** About as long as the snapshot of a few MB takes. */
const SNAPSHOT_KILL_MS_MAX = 600;

/** The server that came up again, and what is wrong with what it holds. */
export interface RoundEnd {
  readonly server: RunningProgram;
  readonly damages: readonly Damage[];
}

/** Rejects when a start fails or a write is refused. */
export async function runRound(life: Life, server: RunningProgram, round: Round): Promise<RoundEnd> {
  const { ledger } = life;
  const { random, ending } = round;
  const endpoint = endpointOf(server);
  const writing = Promise.all(ledger.owners.map((client) => writeUntilLost(client, { endpoint, ledger, random })));
  // A refusal in one client must not go unseen while the moment of the end is awaited.
  await Promise.race([writing, momentOfEnd(server, { endpoint, round })]);
  await end(server, ending);
  await writing;
  ledger.closeOpenWrites();

  if (ending === "start-up") await killStarts(life, round);
  const next = await startServer(life, round.threads);
  await expectReady(next);
  const damages = await ledger.check((commands) => runTogether(endpointOf(next), commands));
  return { server: next, damages };
}

export function startServer(life: Life, threads: Round["threads"]): Promise<RunningProgram> {
  return startProgram("serve", { args: flags(life, threads), hasOwnGroup: true });
}

/**
 * Waiting for a moment is what this test is about: no event tells when a machine kills a process. This is the only
 * timer, and nothing but the moment of the kill depends on it.
 */
function moment(delayMs: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(delayMs, resolve));
}

async function momentOfEnd(server: RunningProgram, what: { endpoint: Endpoint; round: Round }): Promise<void> {
  const { endpoint, round } = what;
  if (round.ending === "snapshot") {
    await fillUntil(endpoint, () => SNAPSHOT_STARTED.test(server.log));
    await moment(round.random.below(SNAPSHOT_KILL_MS_MAX));
  } else {
    await moment(WRITE_MS_MIN + round.random.below(WRITE_MS_MAX - WRITE_MS_MIN));
  }
}

async function end(server: RunningProgram, ending: Ending): Promise<void> {
  if (ending === "stop") {
    const { code, signal } = await server.stop();
    if (code !== 0) throw new Error(`SIGTERM ended with code ${code}, signal ${signal}\n${server.log}`);
  } else if (ending === "group") {
    await server.killGroup();
  } else {
    await server.kill();
  }
}

async function killStarts(life: Life, { threads, random }: Round): Promise<void> {
  for (let left = 1 + random.below(START_KILLS_MAX); left > 0; left -= 1) {
    const starting = spawnProgram(["serve", ...flags(life, threads)], { env: anyPorts });
    await moment(random.below(START_KILL_MS_MAX));
    await starting.kill();
  }
}

function flags({ directory, fsync }: Life, threads: string): readonly string[] {
  return ["--data-dir", directory, "--fsync", fsync, "--threads", threads];
}

async function expectReady(server: RunningProgram): Promise<void> {
  const { status } = await fetch(`${server.adminUrl}/health/ready`);
  if (status !== 200) throw new Error(`not ready after a start: ${status}\n${server.log}`);
}

function endpointOf(server: RunningProgram): Endpoint {
  return { url: server.storeUrl, token: server.storeToken };
}

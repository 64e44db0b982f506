/**
 * One round of the store: clients write, the server ends in some way at a moment
 * drawn from the seed, it starts again, and its contents are compared with what
 * it acknowledged.
 */
import type { Random } from "../../../../src/kernel/random.ts";
import type { RunningProgram } from "../../../program/program-process.ts";
import { type Ending, killStarts, moment, SNAPSHOT_STARTED, stopCleanly } from "../endings.ts";
import type { KillGround } from "../ground.ts";
import type { Endpoint } from "../post.ts";
import { type RoundEnd, startKilled } from "../rounds.ts";
import { fillUntil, runTogether, writeUntilLost } from "./clients.ts";
import type { Damage, Ledger } from "./ledger.ts";

export interface Life {
  readonly directory: string;
  readonly ground: KillGround;
  readonly fsync: "always" | "everysec";
  readonly ledger: Ledger;
}

export interface Round {
  readonly ending: Ending;
  /** Settings of the restarted server. */
  readonly threads: "one" | "per-area";
  readonly random: Random;
}

const WRITE_MS_MIN = 5;
const WRITE_MS_MAX = 800;
const START_KILL_MS_MAX = 400;
/** About as long as the snapshot of a few MB takes. */
const SNAPSHOT_KILL_MS_MAX = 600;

/** Rejects if a start fails or a write is refused. */
export async function runRound(life: Life, server: RunningProgram, round: Round): Promise<RoundEnd<Damage>> {
  const { ledger } = life;
  const { random, ending } = round;
  const endpoint = endpointOf(life, server);
  const writing = Promise.all(ledger.owners.map((client) => writeUntilLost(client, { endpoint, ledger, random })));
  // A refusal in one client must not go unseen during the wait for the end.
  await Promise.race([writing, momentOfEnd(server, { endpoint, round })]);
  await end(server, ending);
  await writing;
  ledger.closeOpenWrites();

  if (ending === "start-up") {
    const args = (): readonly string[] => flags(life, round.threads);
    await killStarts(random, { ground: life.ground, args, msMax: START_KILL_MS_MAX, isGroup: false });
  }
  const next = await startServer(life, round.threads);
  await expectReady(next);
  const damages = await ledger.check((commands) => runTogether(endpointOf(life, next), commands));
  return { server: next, damages };
}

export function startServer(life: Life, threads: Round["threads"]): Promise<RunningProgram> {
  return startKilled(life.ground, { args: flags(life, threads) });
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
  if (ending === "stop") await stopCleanly(server);
  else if (ending === "group") await server.killGroup();
  else await server.kill();
}

function flags({ directory, fsync }: Life, threads: string): readonly string[] {
  return ["--data-dir", directory, "--fsync", fsync, "--threads", threads];
}

async function expectReady(server: RunningProgram): Promise<void> {
  const { status } = await fetch(`${server.adminUrl}/health/ready`);
  if (status !== 200) throw new Error(`not ready after a start: ${status}\n${server.log}`);
}

function endpointOf({ ground }: Life, server: RunningProgram): Endpoint {
  return { url: server.storeUrl, token: ground.storeTokenOf(server) };
}

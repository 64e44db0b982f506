/**
 * Clients that write over keep-alive HTTP until the server dies. Each has one
 * request under way at a time and never repeats one: a repeated APPEND would be
 * a duplicate caused by the test.
 */
import { Agent } from "node:http";
import type { Random } from "../../../../src/kernel/random.ts";
import { ConnectionLost, type Endpoint, post } from "../post.ts";
import type { Ledger, Write } from "./ledger.ts";
import { type Command, kinds, type Value } from "./writes.ts";

/** One element of an answer, or the whole answer of a single command. */
interface Answer {
  readonly result?: Value;
  readonly error?: string;
}

const PIPELINE_COUNT_MAX = 12;
/** Pipelines among ten requests. */
const PIPELINE_TENTHS = 3;

const FILL_COUNT = 4;
const FILL_BYTES = 1_000_000;
const FILL_BYTES_MAX = 512_000_000;

/** Writes until the connection breaks. Resolves then; rejects if the server refuses a write. */
export async function writeUntilLost(
  client: string,
  options: { endpoint: Endpoint; ledger: Ledger; random: Random },
): Promise<void> {
  const { endpoint, ledger, random } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const draw = (): Write => ledger.next(kinds[random.below(kinds.length)] as (typeof kinds)[number], client);
  try {
    for (;;) {
      const writes = [draw()];
      const isPipeline = random.below(10) < PIPELINE_TENTHS && writes[0]?.kind.isTransaction !== true;
      const count = isPipeline ? random.below(PIPELINE_COUNT_MAX) : 0;
      while (writes.length < count) {
        // A transaction has an endpoint of its own, so it ends the pipeline and is sent separately.
        const kind = kinds[random.below(kinds.length)];
        if (kind === undefined || kind.isTransaction === true) break;
        writes.push(ledger.next(kind, client));
      }
      await send(writes, { endpoint, agent, isPipeline });
      for (const write of writes) ledger.acknowledge(write);
    }
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
  } finally {
    agent.destroy();
  }
}

/** Overwrites a few large values until `isEnough`, so that the journal grows and the keyspace does not. */
export async function fillUntil(endpoint: Endpoint, isEnough: () => boolean): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const body = Array.from({ length: FILL_COUNT }, (_, i) => ["SET", `fill:${i}`, "x".repeat(FILL_BYTES)]);
  try {
    for (let filledBytes = 0; !isEnough(); filledBytes += FILL_COUNT * FILL_BYTES) {
      if (filledBytes >= FILL_BYTES_MAX) throw new Error(`nothing happened within ${filledBytes} bytes`);
      await post(endpoint, { path: "/pipeline", text: JSON.stringify(body), agent });
    }
  } finally {
    agent.destroy();
  }
}

/** Sends commands as one transaction and resolves with their results. */
export async function runTogether(endpoint: Endpoint, commands: readonly Command[]): Promise<readonly Value[]> {
  const answers = (await post(endpoint, { path: "/multi-exec", text: JSON.stringify(commands) })) as readonly Answer[];
  return answers.map(({ result = null, error }, index) => {
    if (error !== undefined) throw new Error(`${JSON.stringify(commands[index])} was refused: ${error}`);
    return result;
  });
}

async function send(
  writes: readonly Write[],
  how: { endpoint: Endpoint; agent: Agent; isPipeline: boolean },
): Promise<void> {
  const { endpoint, agent, isPipeline } = how;
  const commands = writes.flatMap((write) => write.commands);
  const isTransaction = writes[0]?.kind.isTransaction === true;
  const path = isTransaction ? "/multi-exec" : isPipeline ? "/pipeline" : "/";
  const body = path === "/" ? commands[0] : commands;
  const answer = (await post(endpoint, { path, text: JSON.stringify(body), agent })) as Answer | readonly Answer[];
  for (const { error } of [answer].flat() as readonly Answer[])
    if (error !== undefined) throw new Error(`a write was refused: ${error}`);
}

/** Clients of the store that write through failovers, and what must be there after each of them. */
import type { Random } from "../../src/kernel/random.ts";
import type { Damage, Ledger, Write } from "../simulation/kill/store/ledger.ts";
import { type Command, kinds, type Value } from "../simulation/kill/store/writes.ts";
import { type Answered, type ClientOptions, ClusterClient, RoundOver, UnknownOutcome } from "./cluster-requests.ts";

export interface StoreWriting extends ClientOptions {
  readonly token: string;
  readonly ledger: Ledger;
  readonly random: Random;
  /** A write was acknowledged. */
  acknowledged(): void;
}

interface Reply {
  readonly result?: Value;
  readonly error?: string;
}

/** Writes until the round is over, or until nobody knows how a write ended. Rejects if a write is answered with an error. */
export async function writeThrough(owner: string, writing: StoreWriting): Promise<void> {
  const { ledger, random, token } = writing;
  const client = new ClusterClient(writing);
  try {
    while (!writing.isOver()) {
      const write = ledger.next(kinds[random.below(kinds.length)] as (typeof kinds)[number], owner);
      await carryOut(client, write, token);
      ledger.acknowledge(write);
      writing.acknowledged();
    }
  } catch (failure) {
    if (!(failure instanceof UnknownOutcome || failure instanceof RoundOver)) throw failure;
  } finally {
    client.close();
  }
}

/** Compares the store of the owner with the ledger. Nobody may write meanwhile. */
export async function checkStore(
  ledger: Ledger,
  { nodes, token }: Pick<StoreWriting, "nodes" | "token">,
): Promise<readonly Damage[]> {
  const client = new ClusterClient({ nodes, isOver: () => false });
  try {
    return await ledger.check(async (commands) => {
      const replies = repliesIn(await client.ask(postOf("/multi-exec", commands, token)));
      return replies.map(({ result = null, error }, i) => {
        if (error !== undefined) throw new Error(`${JSON.stringify(commands[i])} was refused: ${error}`);
        return result;
      });
    });
  } finally {
    client.close();
  }
}

/** Resolves with the result of a command. Rejects if it is answered with an error. */
export async function runCommand(client: ClusterClient, command: Command, token: string): Promise<Value> {
  const [{ result = null, error } = {}] = repliesIn(await client.ask(postOf("/", command, token)));
  if (error !== undefined) throw new Error(`${JSON.stringify(command)} was refused: ${error}`);
  return result;
}

/** Resolves when a node acknowledges a write of its own key. */
export async function probeStore({ nodes, token }: Pick<StoreWriting, "nodes" | "token">): Promise<void> {
  for (;;) {
    const client = new ClusterClient({ nodes, isOver: () => false });
    try {
      await runCommand(client, ["SET", "probe", "1"], token);
      return;
    } catch (failure) {
      if (!(failure instanceof UnknownOutcome)) throw failure;
    } finally {
      client.close();
    }
  }
}

async function carryOut(client: ClusterClient, { kind, commands }: Write, token: string): Promise<void> {
  const isTransaction = kind.isTransaction === true;
  const answered = await client.ask(
    postOf(isTransaction ? "/multi-exec" : "/", isTransaction ? commands : commands[0], token),
  );
  for (const { error } of repliesIn(answered))
    if (error !== undefined) throw new Error(`a write was refused: ${error}`);
}

function postOf(path: string, body: unknown, token: string) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return { area: "store", method: "POST", path, headers, body: JSON.stringify(body) } as const;
}

function repliesIn({ status, text }: Answered): readonly Reply[] {
  if (status !== 200) throw new Error(`the store answered ${status}: ${text.slice(0, 200)}`);
  return [JSON.parse(text) as Reply | readonly Reply[]].flat() as readonly Reply[];
}

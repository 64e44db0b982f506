/**
 * Lives of a database whose disk becomes full at any number of bytes, and may stay
 * full: writes short and long, copies, transactions and scripts, several in a turn.
 *
 * (1) Every reply leaves, whether or not space comes.
 * (2) A refused request has changed nothing.
 * (3) What was answered is there after a power cut.
 */
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { defaultUser } from "../../../src/store/acl/built-in-users.ts";
import { TransactionDiscarded } from "../../../src/store/errors.ts";
import { findError } from "../../../src/store/reply/reply.ts";
import type { Store } from "../../../src/store/store.ts";
import { SimulatedDisk } from "../disk/simulated-disk.ts";
import { DIRECTORY, type Harness } from "../server.ts";
import { stateOf } from "./store-state.ts";
import { startServer } from "./store-subject.ts";

const REQUESTS = 24;
const RESERVE_BYTES = 2_000;
const LONG_BYTES_MAX = 6_000;
/** More turns than two writes, the release of the reserve and a sync take. */
const TURNS = 24;

const caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" } as const;

/** Runs one life. Resolves with what it did wrong; undefined: nothing. */
export async function liveOnFullDisk(seed: number, harness: Harness<Store> = {}): Promise<string | undefined> {
  const random = seededRandom(seed);
  const disk = new SimulatedDisk({ seed });
  await disk.mkdir(DIRECTORY);
  await disk.syncDirectory("/");
  const clock = new VirtualClock();
  const options = { clock, random, harness, mode: "always", reserveBytes: RESERVE_BYTES, isTight: true } as const;
  const faults: string[] = [];
  const onFatal = (error: unknown): void => void faults.push(`the process ends: ${String(error)}`);
  const { store, area } = await startServer({ ...options, disk, onFatal });
  const database = store.database("main");
  let waiting = 0;
  for (let request = 0; request < REQUESTS && faults.length === 0; request += 1) {
    if (random.below(4) === 0) disk.freeBytes = random.below(3) === 0 ? Number.POSITIVE_INFINITY : random.below(9_000);
    const commands = drawRequest(random);
    const name = commands.map(([word]) => word).join(", ");
    const before = stateOf(store);
    const answered = answerOf(() => {
      const [first] = commands;
      return commands.length === 1 && first !== undefined
        ? database.command(caller, first)
        : database.transaction(caller, commands);
    });
    const after = stateOf(store);
    waiting += 1;
    void answered.then((error) => {
      waiting -= 1;
      if (error?.includes("No space left") === true && after !== before) faults.push(`${name} was refused and applied`);
    });
    if (random.below(3) > 0) continue;
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
    if (waiting > 0) faults.push(`${waiting} replies wait with ${disk.freeBytes} bytes free, the last to ${name}`);
    if (random.below(3) === 0) clock.advance(1_000);
  }
  if (faults.length > 0) return faults[0];
  disk.freeBytes = Number.POSITIVE_INFINITY;
  await area.journal.whenSafe(area.journal.end);
  const restarted = await startServer({ ...options, disk: disk.afterPowerCut(random), harness: {}, onFatal });
  return stateOf(restarted.store) === stateOf(store) ? undefined : "a power cut changes what was answered";
}

/** The text of the error that a request is answered with, if any. */
async function answerOf(ask: () => unknown): Promise<string | undefined> {
  try {
    return findError((await ask()) as Parameters<typeof findError>[0])?.text;
  } catch (error) {
    if (error instanceof TransactionDiscarded) return error.message;
    throw error;
  }
}

/** One command, or those of a transaction. */
function drawRequest(random: Random): string[][] {
  const key = (): string => `k${random.below(4)}`;
  const long = (): number => random.below(LONG_BYTES_MAX);
  const draw = (): string[] => {
    switch (random.below(7)) {
      case 0:
        return ["GET", key()];
      case 1:
        return ["COPY", key(), key(), "REPLACE"];
      case 2:
        return ["APPEND", key(), "a".repeat(long())];
      case 3:
        return ["EVAL", "return redis.call('SET', KEYS[1], string.rep('s', ARGV[1]))", "1", key(), String(long())];
      case 4:
        return ["SET", key(), "v".repeat(long())];
      default:
        return ["SET", key(), `short ${random.below(9)}`];
    }
  };
  return Array.from({ length: random.below(4) === 0 ? 1 + random.below(4) : 1 }, draw);
}

/** What the databases of a store share. */
import type { Clock } from "../../kernel/clock.ts";
import type { FrameWriter } from "../../kernel/frame.ts";
import type { MemoryAccount } from "../../kernel/memory-guard.ts";
import type { Random } from "../../kernel/random.ts";
import type { Turns } from "../../kernel/turns.ts";
import type { StoreFacts } from "../command-host.ts";
import type { Interpreter } from "../scripting/scripts.ts";

export interface StoreContext extends StoreFacts {
  readonly clock: Clock;
  readonly random: Random;
  readonly turns: Turns;
  readonly hashSeed: Uint8Array;
  readonly dailyRequestsMax: number;
  /** The account of a new database. */
  readonly openAccount: (name: string) => MemoryAccount;
  readonly interpreter: Interpreter;
  /** The memory that undoing one script or transaction may take. */
  readonly undoBytesMax: number;
  readonly frame: FrameWriter;
  /** Reports a bug within a unit of work: if the unit had changed state, memory is ahead of the journal. */
  reportBug(error: unknown): void;
  /** False after such a bug. */
  isSound(): boolean;
  /** Throws after such a bug. */
  assertSound(): void;
}

/**
 * A pipeline: commands in order, each a unit of its own. A long one yields to
 * other tenants now and then.
 */
import type { Clock } from "../../kernel/clock.ts";
import { type Tenant, TURN_MS } from "../../kernel/turns.ts";
import type { CommandRequest } from "../command-facts.ts";
import type { ReplyPrinter } from "../reply/printer.ts";
import type { Caller } from "./caller.ts";
import type { RequestWaits } from "./request-waits.ts";
import type { UnitFrames } from "./unit-frames.ts";

/** After this many commands, or `TURN_MS`, a pipeline yields to other tenants. */
const SLICE_COMMANDS_MAX = 1_000;
/** How often it reads the clock after quick commands: a reading costs a third of a GET. */
const SLICE_COMMANDS_PER_LOOK = 64;
/** It also reads the clock after this many bytes of replies. */
const SLICE_BYTES_PER_LOOK = 64 * 1024;

/** The database, as far as its pipelines need it. */
export interface PipelineHost {
  readonly turn: Tenant;
  readonly context: { readonly clock: Clock };
  readonly frames: Pick<UnitFrames, "hold" | "release">;
  /** When the clock was last read. */
  readonly lookedAtMs: number;
  readonly waits: Pick<RequestWaits, "areLikely" | "mustWait" | "isHeavy">;
}

/** What runs the commands. */
export interface PipelineUnits {
  begin(): void;
  /** Begins a unit of work without reading the clock. */
  beginAtSameTime(): void;
  /** Runs a command as the begun unit. Returns the number of printed bytes; undefined: its reply comes later. */
  printOne(caller: Caller, request: CommandRequest, printer: ReplyPrinter<number>): number | undefined;
  /** Prints that reply when the command has it. */
  printLater(printer: ReplyPrinter<number>): Promise<number>;
}

export class Pipeline {
  readonly #host: PipelineHost;
  readonly #units: PipelineUnits;
  readonly #caller: Caller;
  readonly #requests: readonly CommandRequest[];
  readonly #printer: ReplyPrinter<number>;
  #doneCount = 0;
  /** The last command, while it has no reply yet. */
  #running: Promise<number> | undefined;

  constructor(
    { host, units }: { readonly host: PipelineHost; readonly units: PipelineUnits },
    { caller, requests }: { readonly caller: Caller; readonly requests: readonly CommandRequest[] },
    printer: ReplyPrinter<number>,
  ) {
    this.#host = host;
    this.#units = units;
    this.#caller = caller;
    this.#requests = requests;
    this.#printer = printer;
  }

  /** Runs all commands. Returns undefined if none had to wait for another turn. */
  run(): Promise<void> | undefined {
    this.#runSome();
    const isDone = this.#doneCount === this.#requests.length && this.#running === undefined;
    return isDone ? undefined : this.#runRest();
  }

  /** Runs commands until other tenants have their turn. */
  #runSome(): void {
    const { frames } = this.#host;
    frames.hold();
    try {
      this.#runUntilTurn();
    } finally {
      frames.release();
    }
  }

  #runUntilTurn(): void {
    const { waits, context } = this.#host;
    const clock = context.clock.real;
    const start = this.#doneCount;
    const end = Math.min(this.#requests.length, start + SLICE_COMMANDS_MAX);
    const startMs = clock.monotonicMs();
    let beganAtMs = 0;
    let printedBytes = 0;
    while (this.#doneCount < end) {
      const index = this.#doneCount;
      const request = this.#requests[index] as CommandRequest;
      if (waits.areLikely && waits.mustWait(request)) return;
      if ((index - start) % SLICE_COMMANDS_PER_LOOK > 0) {
        this.#units.beginAtSameTime();
      } else {
        if (index > start && clock.monotonicMs() - startMs >= TURN_MS) return;
        this.#units.begin();
        if (index === start) beganAtMs = this.#host.lookedAtMs;
      }
      const bytes = this.#units.printOne(this.#caller, request, this.#printer);
      this.#doneCount = index + 1;
      if (bytes === undefined) {
        this.#running = this.#units.printLater(this.#printer);
        return;
      }
      printedBytes += bytes;
      // It has moved if the clock was read, as after every command that is not quick.
      if (this.#host.lookedAtMs - beganAtMs >= TURN_MS) return;
      if (printedBytes < SLICE_BYTES_PER_LOOK) continue;
      printedBytes = 0;
      if (clock.monotonicMs() - startMs >= TURN_MS) return;
    }
  }

  async #runRest(): Promise<void> {
    for (;;) {
      // It waits in its place: nothing is awaited before.
      if (this.#running !== undefined) await this.#running;
      this.#running = undefined;
      if (this.#doneCount === this.#requests.length) return;
      await this.#host.turn.next({
        isHeavy: this.#host.waits.isHeavy(this.#requests[this.#doneCount] as CommandRequest),
      });
      this.#runSome();
    }
  }
}

/**
 * Clients whose operations on a few keys are noted from call to reply, so that an
 * order can be looked for that explains them all, across the nodes that answered.
 */
import type { Random } from "../../src/kernel/random.ts";
import { moment } from "../simulation/kill/endings.ts";
import { describeNotLinearizable, findNotLinearizable } from "../simulation/linearizability/linearizability.ts";
import { type Input, OperationLog, type Output } from "../simulation/linearizability/operations.ts";
import { ClusterClient, RoundOver, UnknownOutcome } from "./cluster-requests.ts";
import { runCommand, type StoreWriting } from "./store-writers.ts";

/** Between two operations of an observer: some hundred operations for each key of a round. */
const PAUSE_MS = 25;

export interface Observing extends Pick<StoreWriting, "nodes" | "isOver" | "token" | "front"> {
  readonly random: Random;
}

/** Carries a command out. Rejects with `UnknownOutcome`, or with `RoundOver`. */
export type RunCommand = (command: readonly (string | number)[]) => Promise<unknown>;

export class Observers {
  readonly #log = new OperationLog();
  readonly #prefix: string;
  #values = 0;

  /** The keys are new: nothing was written under this prefix. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Reads and writes until the round is over. Rejects if an operation is answered with an error. */
  async observeThrough(observing: Observing): Promise<void> {
    const client = new ClusterClient(observing);
    try {
      await this.observeWith((command) => runCommand(client, command, observing.token), observing);
    } finally {
      client.close();
    }
  }

  /** The same, over any connection to the store. */
  async observeWith(run: RunCommand, { isOver, random }: Pick<Observing, "isOver" | "random">): Promise<void> {
    try {
      while (!isOver()) {
        await this.#operate(this.#draw(random), run);
        await moment(PAUSE_MS);
      }
    } catch (failure) {
      if (!(failure instanceof RoundOver)) throw failure;
    }
  }

  /** Reads every key once, when nobody writes any more: what was acknowledged and is lost cannot be explained then. */
  async readAll(run: RunCommand): Promise<void> {
    await this.#operate({ object: "register", name: "GET" }, run);
    await this.#operate({ object: "counter", name: "GET" }, run);
    await this.#operate({ object: "list", name: "LRANGE" }, run);
  }

  /** The operations so far. */
  get count(): number {
    return this.#log.operations.length;
  }

  /** Those of them that have no reply. */
  get unknownCount(): number {
    return this.#log.operations.filter(({ reply }) => reply === undefined).length;
  }

  /** Why no order explains what the clients saw; undefined if one does. */
  check(): string | undefined {
    const found = findNotLinearizable(this.#log.operations);
    return found && describeNotLinearizable(found);
  }

  async #operate(input: Input, run: RunCommand): Promise<void> {
    const key = `${this.#prefix}:${input.object}`;
    const reply = this.#log.call(key, input);
    try {
      reply(outputOf(input, await run(commandOf(key, input))));
    } catch (failure) {
      if (!(failure instanceof UnknownOutcome)) throw failure;
    }
  }

  #draw(random: Random): Input {
    this.#values += 1;
    const value = `${this.#values}`;
    const inputs: readonly Input[] = [
      { object: "register", name: "SET", value },
      { object: "register", name: "GET" },
      { object: "counter", name: "INCR" },
      { object: "counter", name: "GET" },
      { object: "list", name: "RPUSH", value },
      { object: "list", name: "LRANGE" },
    ];
    return inputs[random.below(inputs.length)] as Input;
  }
}

function commandOf(key: string, input: Input): readonly (string | number)[] {
  if (input.name === "LRANGE") return ["LRANGE", key, 0, -1];
  return "value" in input ? [input.name, key, input.value] : [input.name, key];
}

function outputOf(input: Input, result: unknown): Output {
  return input.object === "counter" ? Number(result ?? 0) : (result as Output);
}

/**
 * A result is held back while another delivery of its run is under way, or the
 * last one of the run whose end it tells (spec: workflow 1 "Hold-back rule"):
 * an endpoint publishes the next result before it has answered, and a quick
 * server would overtake it. Never for longer than HOLD_MS, and never stored.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Message } from "../message.ts";
import type { Run } from "./run.ts";
import { plannedStep, readStep } from "./step-text.ts";

export const HOLD_MS = 250;

interface Held {
  readonly message: Message;
  readonly runs: readonly Run[];
  readonly cancel: () => void;
}

export class Holding {
  readonly #clock: Clock;
  readonly #release: (messages: readonly Message[]) => void;
  #held: Held[] = [];

  /** `release` is given what may go on. */
  constructor(clock: Clock, release: (messages: readonly Message[]) => void) {
    this.#clock = clock;
    this.#release = release;
  }

  /** Messages that are on the disk now; returned are those that need not wait. */
  holdBack(messages: readonly Message[], nowMs: number): readonly Message[] {
    if (messages.every(({ run }) => run === undefined)) return messages;
    return messages.filter((message) => {
      const runs = this.#waitsFor(message, nowMs);
      if (runs.length === 0) return true;
      const cancel = this.#clock.after(HOLD_MS, () => this.#letGo((held) => held.message === message));
      this.#held.push({ message, runs, cancel });
      return false;
    });
  }

  /** A delivery of a run has ended. */
  ended(run: Run): void {
    if (this.#held.length === 0 || run.inFlight.size > 0) return;
    this.#letGo(({ runs }) => runs.every(({ inFlight }) => inFlight.size === 0));
  }

  #letGo(isFree: (held: Held) => boolean): void {
    const free = this.#held.filter(isFree);
    if (free.length === 0) return;
    this.#held = this.#held.filter((held) => !free.includes(held));
    for (const { cancel } of free) cancel();
    this.#release(free.map(({ message }) => message));
  }

  /** Runs whose deliveries this message waits for. */
  #waitsFor({ run, envelope, notBeforeMs, body }: Message, nowMs: number): readonly Run[] {
    const { workflow } = envelope.fields;
    if (run === undefined || workflow === undefined || notBeforeMs > nowMs) return [];
    const isResult =
      workflow.callType === "fromCallback" || (workflow.callType === "step" && !workflow.isInit && !isPlan(body.bytes));
    if (!isResult) return [];
    const child = workflow.tellsOf === undefined ? undefined : run.user.runs.get(workflow.tellsOf);
    return [run, ...(child === undefined ? [] : [child])].filter(({ inFlight }) => inFlight.size > 0);
  }
}

/** Plans are short. */
const PLAN_BYTES_MAX = 16 * 1024;

function isPlan(bytes: Buffer | undefined): boolean {
  if (bytes === undefined || bytes.length > PLAN_BYTES_MAX || !bytes.includes('"targetStep"')) return false;
  const step = readStep(bytes);
  return step !== undefined && plannedStep(step) !== undefined;
}

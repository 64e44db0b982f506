/**
 * A result is held back while another delivery of its run is under way, or the
 * last one of the run whose end it reports (W.hold-back):
 * an endpoint publishes the next result before it has answered, and a quick
 * server would overtake it. Never for longer than HOLD_MS, and never stored.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Arrival } from "../delivery/scheduler.ts";
import type { Message } from "../state/message.ts";
import type { Run } from "../state/run.ts";
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
  /** Messages that wait for the deliveries of a run, in order of arrival. */
  readonly #byRun = new Map<Run, Set<Held>>();

  /** `release` gets the messages that may be called. The clock is the real one, because calls take real time. */
  constructor(clock: Clock, release: (messages: readonly Message[]) => void) {
    this.#clock = clock;
    this.#release = release;
  }

  /** Takes messages that are on the disk now; returns those that need not wait. */
  holdBack(arrivals: readonly Arrival[], nowMs: number): readonly Arrival[] {
    if (arrivals.every(({ message }) => message.run === undefined)) return arrivals;
    return arrivals.filter(({ message }) => {
      const runs = this.#waitsFor(message, nowMs);
      if (runs.length > 0) this.#hold(message, runs);
      return runs.length === 0;
    });
  }

  /** A delivery of a run has ended. */
  ended(run: Run): void {
    if (run.inFlight.size > 0) return;
    const waiting = this.#byRun.get(run);
    if (waiting === undefined) return;
    this.#releaseHeld([...waiting].filter(({ runs }) => runs.every(({ inFlight }) => inFlight.size === 0)));
  }

  #hold(message: Message, runs: readonly Run[]): void {
    const held: Held = { message, runs, cancel: this.#clock.after(HOLD_MS, () => this.#releaseHeld([held])) };
    for (const run of runs) {
      const waiting = this.#byRun.get(run);
      if (waiting === undefined) this.#byRun.set(run, new Set([held]));
      else waiting.add(held);
    }
  }

  #releaseHeld(free: readonly Held[]): void {
    if (free.length === 0) return;
    for (const held of free) {
      held.cancel();
      for (const run of held.runs) {
        const waiting = this.#byRun.get(run);
        waiting?.delete(held);
        if (waiting?.size === 0) this.#byRun.delete(run);
      }
    }
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

/** Plans are shorter. */
const PLAN_BYTES_MAX = 16 * 1024;

function isPlan(bytes: Buffer | undefined): boolean {
  if (bytes === undefined || bytes.length > PLAN_BYTES_MAX || !bytes.includes('"targetStep"')) return false;
  const step = readStep(bytes);
  return step !== undefined && plannedStep(step) !== undefined;
}

/**
 * The two ends of an area that runs in a thread of its own. Main calls the
 * door's methods by name; the thread calls the events by name. A refusal keeps
 * being one across the threads, every other fault arrives as its text.
 */
import type { MessagePort, Worker } from "node:worker_threads";
import { StartRefusal } from "../refusal.ts";
import type { AreaApi, AreaEvents, OpenPorts } from "./area.ts";

interface Question {
  readonly kind: "question";
  readonly id: number;
  readonly method: keyof AreaApi;
  readonly argument: unknown;
}

interface Answer {
  readonly kind: "answer";
  readonly id: number;
  readonly value?: unknown;
  readonly failure?: { readonly isRefusal: boolean; readonly text: string };
}

interface Told {
  readonly kind: "event";
  readonly event: keyof AreaEvents;
  readonly argument: unknown;
}

interface Beat {
  readonly kind: "beat";
}

type FromThread = Answer | Told | Beat;

/** Main's end: a door whose methods are questions to the thread. */
export class RemoteArea implements AreaApi {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (fault: Error) => void }>();
  #count = 0;
  #hasEnded = false;

  /** `onBeat` is called for every message, each a sign of life. */
  constructor(worker: Worker, events: AreaEvents, onBeat: () => void) {
    this.#worker = worker;
    worker.on("message", (message: FromThread) => {
      onBeat();
      if (message.kind === "answer") this.#settle(message);
      // The argument was given to the event of the same name at the other end.
      else if (message.kind === "event") events[message.event](message.argument as never);
    });
    worker.on("exit", () => this.#abandon());
  }

  bind(): Promise<OpenPorts> {
    return this.#ask("bind");
  }

  open(): Promise<void> {
    return this.#ask("open");
  }

  close(graceMs: number): Promise<void> {
    return this.#ask("close", graceMs);
  }

  figures(): ReturnType<AreaApi["figures"]> {
    return this.#ask("figures");
  }

  reset(): Promise<void> {
    return this.#ask("reset");
  }

  tenantNames(): Promise<readonly string[]> {
    return this.#ask("tenantNames");
  }

  setTokens(tenant: Parameters<AreaApi["setTokens"]>[0]): Promise<void> {
    return this.#ask("setTokens", tenant);
  }

  dropTenant(name: string): Promise<void> {
    return this.#ask("dropTenant", name);
  }

  backUp(target: string): Promise<number> {
    return this.#ask("backUp", target);
  }

  prepareSnapshot(): Promise<void> {
    return this.#ask("prepareSnapshot");
  }

  finishSnapshot(isWritten: boolean): Promise<boolean> {
    return this.#ask("finishSnapshot", isWritten);
  }

  #ask<Value>(method: keyof AreaApi, argument?: unknown): Promise<Value> {
    if (this.#hasEnded) return Promise.reject(threadEnded());
    this.#count += 1;
    const question: Question = { kind: "question", id: this.#count, method, argument };
    return new Promise((resolve, reject) => {
      this.#waiting.set(question.id, { resolve, reject });
      this.#worker.postMessage(question);
    });
  }

  #settle({ id, value, failure }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (failure === undefined) waiting?.resolve(value as never);
    else waiting?.reject(failure.isRefusal ? new StartRefusal(failure.text) : new Error(failure.text));
  }

  #abandon(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.values()) reject(threadEnded());
    this.#waiting.clear();
  }
}

function threadEnded(): Error {
  return new Error("The thread of the area has ended");
}

/** The thread's end: events that are told to main. */
export function eventsTo(port: MessagePort): AreaEvents {
  const tell = (event: keyof AreaEvents, argument?: unknown): void => {
    port.postMessage({ kind: "event", event, argument } satisfies Told);
  };
  return {
    state: (state) => tell("state", state),
    replayed: (progress) => tell("replayed", progress),
    trouble: (reason) => tell("trouble", reason),
    snapshotDue: () => tell("snapshotDue"),
  };
}

/** The thread's end: answers main's questions from the area's door. */
export function answerQuestions(port: MessagePort, door: AreaApi): void {
  port.on("message", (question: Question) => {
    const answer = (rest: Omit<Answer, "kind" | "id">): void => {
      port.postMessage({ kind: "answer", id: question.id, ...rest } satisfies Answer);
    };
    const method = door[question.method] as (argument: unknown) => Promise<unknown>;
    method.call(door, question.argument).then(
      (value) => answer({ value }),
      (fault: unknown) => {
        const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
        const isRefusal = fault instanceof StartRefusal;
        answer({ failure: { isRefusal, text: isRefusal ? fault.message : text } });
      },
    );
  });
}

/** The thread's end: a sign of life. */
export function beat(port: MessagePort): void {
  port.postMessage({ kind: "beat" } satisfies Beat);
}

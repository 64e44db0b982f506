/**
 * The two ends of an area that runs in its own thread. Main calls methods by
 * name; the thread reports events by name. A refusal stays a refusal across the
 * threads, every other fault arrives as its text.
 */
import type { MessagePort } from "node:worker_threads";
import { StartRefusal } from "../refusal.ts";
import type { AreaApi, AreaEvents } from "./area.ts";

type MethodsOf<Part extends keyof AreaApi> = Readonly<Record<keyof AreaApi[Part], true>>;

/** Every call that main can make, by the part of the area that answers it. The type keeps the table complete. */
const methods: { readonly [Part in keyof AreaApi]: MethodsOf<Part> } = {
  control: {
    ...{ bind: true, open: true, confirmed: true, follow: true, replaceKeys: true, changeTenants: true },
    ...{ prepareRelease: true, release: true, close: true, figures: true },
  },
  data: {
    ...{ reset: true, tenantNames: true, tenantMemory: true, namespaces: true },
    ...{ setTokens: true, dropTenant: true, backUp: true },
  },
  snapshots: { prepareSnapshot: true, finishSnapshot: true },
  clients: { list: true, kill: true },
};

interface Question {
  readonly kind: "question";
  readonly id: number;
  readonly part: keyof AreaApi;
  /** One of the part's methods. */
  readonly method: string;
  readonly argument: unknown;
}

interface Answer {
  readonly kind: "answer";
  readonly id: number;
  readonly value?: unknown;
  readonly failure?: { readonly isRefusal: boolean; readonly text: string };
}

interface EventReport {
  readonly kind: "event";
  readonly event: keyof AreaEvents;
  readonly argument: unknown;
}

interface Beat {
  readonly kind: "beat";
}

type FromThread = Answer | EventReport | Beat;

/** The part of a worker that calls need. */
export interface AreaWorker {
  on(event: "message", listener: (message: FromThread) => void): unknown;
  on(event: "exit", listener: () => void): unknown;
  postMessage(message: unknown): void;
}

/**
 * Main's end: an area whose methods call the thread. `onBeat` is called for every message, each a heartbeat.
 */
export function remoteArea(worker: AreaWorker, events: AreaEvents, onBeat: () => void): AreaApi {
  const questions = new Questions(worker, events, onBeat);
  const part = <Part extends keyof AreaApi>(name: Part): AreaApi[Part] =>
    Object.fromEntries(
      Object.keys(methods[name]).map((method) => [
        method,
        (argument?: unknown) => questions.ask({ part: name, method, argument }),
      ]),
      // The table has each method of the part, and the thread answers with what that method returns.
    ) as unknown as AreaApi[Part];
  return { control: part("control"), data: part("data"), snapshots: part("snapshots"), clients: part("clients") };
}

/** The pending calls. */
class Questions {
  readonly #worker: AreaWorker;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (fault: Error) => void }>();
  #count = 0;
  #hasEnded = false;

  constructor(worker: AreaWorker, events: AreaEvents, onBeat: () => void) {
    this.#worker = worker;
    worker.on("message", (message: FromThread) => {
      onBeat();
      if (message.kind === "answer") this.#settle(message);
      // The argument was given to the event of the same name at the other end.
      else if (message.kind === "event") events[message.event](message.argument as never);
    });
    worker.on("exit", () => this.#abandon());
  }

  ask(asked: Pick<Question, "part" | "method" | "argument">): Promise<unknown> {
    if (this.#hasEnded) return Promise.reject(threadEnded());
    this.#count += 1;
    const question: Question = { kind: "question", id: this.#count, ...asked };
    return new Promise((resolve, reject) => {
      this.#waiting.set(question.id, { resolve, reject });
      this.#worker.postMessage(question);
    });
  }

  #settle({ id, value, failure }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (failure === undefined) waiting?.resolve(value);
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

/** The thread's end: reports events to main. */
export function eventsTo(port: MessagePort): AreaEvents {
  const report = (event: keyof AreaEvents, argument?: unknown): void => {
    port.postMessage({ kind: "event", event, argument } satisfies EventReport);
  };
  return {
    state: (state) => report("state", state),
    replayed: (progress) => report("replayed", progress),
    trouble: (reason) => report("trouble", reason),
    snapshotDue: (shard) => report("snapshotDue", shard),
    snapshotRequested: (shard) => report("snapshotRequested", shard),
    shard: (event) => report("shard", event),
    problem: (problem) => report("problem", problem),
  };
}

/** The thread's end: answers main's calls. */
export function answerQuestions(port: MessagePort, area: AreaApi): void {
  port.on("message", ({ id, part, method, argument }: Question) => {
    const answer = (rest: Omit<Answer, "kind" | "id">): void => {
      port.postMessage({ kind: "answer", id, ...rest } satisfies Answer);
    };
    // Main calls only the methods of the table.
    const target = area[part] as unknown as Readonly<Record<string, (argument: unknown) => Promise<unknown>>>;
    const answered = target[method]?.(argument) ?? Promise.reject(new Error(`An area has no ${part}.${method}`));
    answered.then(
      (value) => answer({ value }),
      (fault: unknown) => {
        const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
        const isRefusal = fault instanceof StartRefusal;
        answer({ failure: { isRefusal, text: isRefusal ? fault.message : text } });
      },
    );
  });
}

/** The thread's end: a heartbeat. */
export function beat(port: MessagePort): void {
  port.postMessage({ kind: "beat" } satisfies Beat);
}

/**
 * A workflow run: an ordered list of entries, which is the whole state of its
 * function (W.run). Each entry came with a message, and that message delivers the
 * list up to its entry.
 *
 *     RUN_STARTED ──> RUN_SUCCESS | RUN_FAILED | RUN_CANCELED
 *
 * (1) Entries are only added at the end, in the frame that accepts their message.
 *     The only exception is the second start of a run whose client was not known:
 *     its entry replaces the first.
 * (2) A run owns the bodies and envelopes of its entries; a message of the run
 *     shares them. They are removed when the run ends; those of a failed run when
 *     its dead letter is removed, because it can be resumed until then.
 * (3) The waiters, saved events and waiting messages of a run are removed at its end.
 */
import type { TraceContext } from "../../kernel/trace-context.ts";
import type { Body } from "../bodies/body.ts";
import type { CallbackPlan, Envelope, FlowControl, Redaction } from "../options/envelope.ts";
import { ENTRY_BYTES as ENTRY_MEMORY_BYTES, runBytes } from "./memory-sizes.ts";
import type { Message, MessageFacts } from "./message.ts";
import { messageId } from "./message-id.ts";
import type { User } from "./user.ts";

/** Journals store these numbers: they never change. */
export const runState = { started: 0, success: 1, failed: 2, canceled: 3 } as const;

export type RunState = (typeof runState)[keyof typeof runState];

/** The spelling in logs and filters. */
export const runStateNames: readonly string[] = ["RUN_STARTED", "RUN_SUCCESS", "RUN_FAILED", "RUN_CANCELED"];

/** Options of the first message that apply to all later ones, which do not carry them. */
export interface RunConfig {
  /** To the endpoint: name, value, … `Content-Type` first if there is one. */
  readonly headers: readonly string[];
  readonly retriesMax?: number | undefined;
  readonly retryDelay?: string | undefined;
  readonly flowControl?: FlowControl | undefined;
  readonly failureCallback?: CallbackPlan | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly redact?: Redaction | undefined;
  /** Of the request that started the run. */
  readonly trace?: TraceContext | undefined;
}

/** The run that started this one and waits for its end. */
export interface Invoker {
  readonly runId: string;
  readonly url: string;
  readonly createdAtMs: number;
  /** Headers of the message that reports its end: names in lower case without prefix, value, … */
  readonly headers: readonly string[];
  /** Fields of the step whose result the end is. */
  readonly step: Readonly<Record<string, unknown>>;
}

/** The facts of a run that its start sets. In the journal as JSON. */
export interface RunRecord {
  readonly id: string;
  readonly url: string;
  readonly createdAtMs: number;
  readonly callerIp: string;
  readonly config: RunConfig;
  readonly invoker?: Invoker | undefined;
  /** Length of the chain of runs that invoked one another up to this one; 0: a client started it. */
  readonly depth: number;
  /** Its endpoint starts it a second time, with its own headers. */
  readonly isStartedTwice?: true | undefined;
  /** Started by a plain request: the endpoint must prove that it is a workflow endpoint. */
  readonly isPlainTrigger?: true | undefined;
}

export interface Entry {
  readonly sequence: number;
  readonly nonce: number;
  readonly createdAtMs: number;
  readonly notBeforeMs: number;
  readonly envelope: Envelope;
  readonly body: Body;
  /** Among the entries of its run. */
  readonly index: number;
  /** Estimated length of the list up to this entry, as sent. */
  readonly listBytes: number;
  isDelivered: boolean;
}

/** Bytes of an entry of the list without its body. */
const ENTRY_BYTES = 80;

export type FailureFunctionState = "CALLBACK_INPROGRESS" | "CALLBACK_SUCCESS" | "CALLBACK_FAIL" | "CALLBACK_CANCELED";

/** The call that reports a failed run. In the journal as JSON. */
export interface FailureFunction {
  readonly state: FailureFunctionState;
  readonly messageId: string;
  readonly url: string;
  readonly retriesMax: number;
  readonly status?: number;
  readonly headers?: readonly string[];
  /** The answer to the call, or why none came. A long answer is stored separately (`Run.failureAnswer`). */
  readonly body?: string;
}

/** A wait of a run for an event (W.wait). In the journal as JSON. */
export interface WaiterRecord {
  /** Unique among all waiters of the server; it grows. */
  readonly number: number;
  readonly eventId: string;
  readonly runId: string;
  readonly createdAtMs: number;
  /** When the wait times out. */
  readonly deadlineMs: number;
  /** The time-out as given: `7d`. */
  readonly timeout: string;
  readonly url: string;
  /** Headers of the message that reports its outcome: names in lower case without prefix, value, … */
  readonly headers: readonly string[];
  readonly timeoutUrl: string;
  /** The same for the message that reports a time-out; names with `header:` are further headers of its delivery. */
  readonly timeoutHeaders: readonly string[];
  /** The body sent to `timeoutUrl`, in place of the entries. */
  readonly timeoutBody?: string | undefined;
  /** Fields of the step whose result the event is. */
  readonly step: Readonly<Record<string, unknown>>;
}

export type Waiter = WaiterRecord;

/** A wait that was open when its run ended: the log of the run shows it. */
export type LeftWait = Pick<WaiterRecord, "eventId" | "createdAtMs" | "deadlineMs" | "timeout" | "step">;

/** The fields of a run in a snapshot, without its record, result and entries. */
export interface RunFacts {
  readonly state: RunState;
  readonly endedAtMs: number;
  readonly firstMessageId: string;
  /** Id of the dead letter; the field has this name in snapshots. */
  readonly letterId?: string | undefined;
  readonly failureFunction?: FailureFunction | undefined;
  readonly savedEvents: readonly (readonly [eventId: string, data: readonly string[]])[];
  /** Absent: none. */
  readonly leftWaits?: readonly LeftWait[] | undefined;
}

/** The list of entries of a run as its deliveries carry it, as far as it was written. */
export interface StepsPayload {
  /** Entries that are in it. */
  readonly count: number;
  /** Call when the entries are removed. Deliveries under way keep their bytes. */
  release(): void;
}

export class Run {
  readonly user: User;
  record: RunRecord;
  /** Order of creation among the runs of its user. */
  number = 0;
  state: RunState = runState.started;
  /** 0: it has not ended. */
  endedAtMs = 0;
  /** The return value of its function. */
  result: Body | undefined = undefined;
  /** Id of the message of its first entry; remains when the entries are removed. */
  firstMessageId = "";
  entryBytes = 0;
  /** Dead letter of the failed message. */
  deadLetterId: string | undefined = undefined;
  failureFunction: FailureFunction | undefined = undefined;
  /** The answer to the call that reported the failure, if that is long. */
  failureAnswer: Body | undefined = undefined;
  readonly savedEvents = new Map<string, Buffer[]>();
  readonly waiters = new Set<Waiter>();
  /** The waits that were open when it ended. */
  leftWaits: readonly LeftWait[] = [];
  /** Unfinished messages. */
  readonly messages = new Set<Message>();
  /** Deliveries to its endpoint under way. */
  readonly inFlight = new Set<number>();
  /** Its cached list of entries for deliveries, if there is one (workflow/steps-payload.ts). */
  stepsPayload: StepsPayload | undefined = undefined;
  /** Runs that it invoked, including ended ones until they are forgotten. */
  readonly children = new Set<Run>();
  #entries: Entry[] = [];
  readonly #bySequence = new Map<number, Entry>();
  /** Waiting steps whose results are among the entries. */
  readonly #waitedSteps = new Set<number>();
  /** The bytes of its record in the account of its user. */
  #memoryBytes: number;

  constructor(user: User, record: RunRecord) {
    this.user = user;
    this.record = record;
    this.#memoryBytes = runBytes(record);
    user.memory.add(this.#memoryBytes);
  }

  /** Call when the run is forgotten. */
  releaseMemory(): void {
    this.user.memory.add(-this.#memoryBytes);
    this.#memoryBytes = 0;
  }

  get id(): string {
    return this.record.id;
  }

  get isStarted(): boolean {
    return this.state === runState.started;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The entry of a message; undefined if it was removed or the message is not an entry. */
  entryOf(sequence: number): Entry | undefined {
    return this.#bySequence.get(sequence);
  }

  /** True if the result of a wait of this step is among the entries. */
  hasWaited(stepId: unknown): boolean {
    return typeof stepId === "number" && this.#waitedSteps.has(stepId);
  }

  /** keeps (1) */
  addEntry(envelope: Envelope, body: Body, facts: MessageFacts & { readonly isDelivered: boolean }): void {
    const { sequence, nonce, createdAtMs, notBeforeMs, isDelivered } = facts;
    const index = this.#entries.length;
    const listBytes = (this.#entries.at(-1)?.listBytes ?? 2) + Math.ceil(body.length / 3) * 4 + ENTRY_BYTES;
    const place = { body, index, listBytes };
    const entry: Entry = { sequence, nonce, createdAtMs, notBeforeMs, envelope, isDelivered, ...place };
    this.#entries.push(entry);
    this.#bySequence.set(sequence, entry);
    this.entryBytes += body.length;
    this.user.memory.add(ENTRY_MEMORY_BYTES);
    const waitedStep = envelope.fields.workflow?.waited?.stepId;
    if (waitedStep !== undefined) this.#waitedSteps.add(waitedStep);
    if (this.firstMessageId === "") this.firstMessageId = messageId(sequence, nonce);
  }

  /** Removes all entries. The caller frees their bodies and envelopes. */
  takeEntries(): readonly Entry[] {
    this.stepsPayload?.release();
    const taken = this.#entries;
    this.#entries = [];
    this.#bySequence.clear();
    this.#waitedSteps.clear();
    this.entryBytes = 0;
    this.user.memory.add(-ENTRY_MEMORY_BYTES * taken.length);
    return taken;
  }

  /**
   * True for a message whose outcome no longer matters to the run: the run has ended, or another start has replaced the
   * one of the message. The call that reports a failure always matters.
   */
  ignoresOutcomeOf({ sequence, envelope }: Message): boolean {
    const { workflow } = envelope.fields;
    if (workflow?.callType === "failureCall") return false;
    if (workflow?.isBodyOwn === true) return !this.isStarted;
    return !this.isStarted || !this.#bySequence.has(sequence);
  }

  get facts(): RunFacts {
    const { state, endedAtMs, firstMessageId, deadLetterId: letterId, failureFunction } = this;
    const savedEvents = [...this.savedEvents].map(
      ([eventId, data]) => [eventId, data.map((bytes) => bytes.toString("base64"))] as const,
    );
    const leftWaits = this.leftWaits.length === 0 ? undefined : this.leftWaits;
    return { state, endedAtMs, firstMessageId, letterId, failureFunction, savedEvents, leftWaits };
  }

  restore(facts: RunFacts): void {
    this.state = facts.state;
    this.endedAtMs = facts.endedAtMs;
    this.firstMessageId = facts.firstMessageId;
    this.deadLetterId = facts.letterId;
    this.failureFunction = facts.failureFunction;
    this.leftWaits = facts.leftWaits ?? [];
    for (const [eventId, data] of facts.savedEvents) {
      this.savedEvents.set(
        eventId,
        data.map((text) => Buffer.from(text, "base64")),
      );
    }
  }
}

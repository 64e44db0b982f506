/**
 * A workflow run: an ordered list of entries that is all the memory its
 * functions have (W.run). Each entry came with a message, and what
 * that message delivers is the list up to its entry.
 *
 *     RUN_STARTED ──> RUN_SUCCESS | RUN_FAILED | RUN_CANCELED
 *
 * (1) Entries are only ever put at the end, in the frame that accepts their
 *     message. The one exception is the second start of a run whose client was
 *     not known: it puts one entry in the place of the first.
 * (2) A run owns the bodies and envelopes of its entries; a message of the run
 *     shares them. They go when the run ends; those of a failed run when its
 *     dead letter goes, because it can be resumed until then.
 * (3) What waits for a run (waiters, saved events, messages) goes with its end.
 */
import type { TraceContext } from "../../kernel/trace-context.ts";
import type { Body } from "../bodies/body.ts";
import type { CallbackPlan, Envelope, FlowControl, Redaction } from "../options/envelope.ts";
import { ENTRY_BYTES as ENTRY_MEMORY_BYTES, runBytes } from "./memory-sizes.ts";
import type { Message, MessageFacts } from "./message.ts";
import { messageId } from "./message-id.ts";
import type { User } from "./user.ts";

/** The numbers stand in journals: they never change. */
export const runState = { started: 0, success: 1, failed: 2, canceled: 3 } as const;

export type RunState = (typeof runState)[keyof typeof runState];

/** As logs and filters spell them. */
export const runStateNames: readonly string[] = ["RUN_STARTED", "RUN_SUCCESS", "RUN_FAILED", "RUN_CANCELED"];

/** What the first message says for all later ones: those carry none of it. */
export interface RunConfig {
  /** To the endpoint: name, value, … `Content-Type` first if there is one. */
  readonly headers: readonly string[];
  readonly retriesMax?: number | undefined;
  readonly retryDelay?: string | undefined;
  readonly flowControl?: FlowControl | undefined;
  readonly failureCallback?: CallbackPlan | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly redact?: Redaction | undefined;
  /** Of the request that started it. */
  readonly trace?: TraceContext | undefined;
}

/** The run that started this one and waits for its end. */
export interface Invoker {
  readonly runId: string;
  readonly url: string;
  readonly createdAtMs: number;
  /** Of the message that reports its end: names in lower case without prefix, value, … */
  readonly headers: readonly string[];
  /** Fields of the step that the end is the result of. */
  readonly step: Readonly<Record<string, unknown>>;
}

/** What is known of a run from its start. In the journal as JSON. */
export interface RunRecord {
  readonly id: string;
  readonly url: string;
  readonly createdAtMs: number;
  readonly callerIp: string;
  readonly config: RunConfig;
  readonly invoker?: Invoker | undefined;
  /** How many runs invoked one another down to this one; 0: a client started it. */
  readonly depth: number;
  /** Its endpoint starts it a second time, with headers of its own. */
  readonly isStartedTwice?: true | undefined;
  /** Started by a plain request: the endpoint has to show that it is one for workflows. */
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
  /** Of the list up to this entry, as it is sent: an estimate. */
  readonly listBytes: number;
  isDelivered: boolean;
}

/** In an entry of the list, beside its body. */
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
  /** What it was answered, or why it was not. A long answer lies elsewhere (`Run.failureAnswer`). */
  readonly body?: string;
}

/** A wait of a run for an event (W.wait). In the journal as JSON. */
export interface WaiterRecord {
  /** Of this waiter among all of the server; it grows. */
  readonly number: number;
  readonly eventId: string;
  readonly runId: string;
  readonly createdAtMs: number;
  /** When it has waited long enough. */
  readonly deadlineMs: number;
  /** How long that is, as given: `7d`. */
  readonly timeout: string;
  readonly url: string;
  /** Of the message that reports its outcome: names in lower case without prefix, value, … */
  readonly headers: readonly string[];
  readonly timeoutUrl: string;
  /** The same for the message that reports a time-out; after `header:` are others that it is sent with. */
  readonly timeoutHeaders: readonly string[];
  /** Sent to `timeoutUrl` in place of the entries. */
  readonly timeoutBody?: string | undefined;
  /** Fields of the step that the event is the result of. */
  readonly step: Readonly<Record<string, unknown>>;
}

export type Waiter = WaiterRecord;

/** A wait that its run did not see the end of: its log shows it. */
export type LeftWait = Pick<WaiterRecord, "eventId" | "createdAtMs" | "deadlineMs" | "timeout" | "step">;

/** What a snapshot holds of a run beside its record, its result and its entries. */
export interface RunFacts {
  readonly state: RunState;
  readonly endedAtMs: number;
  readonly firstMessageId: string;
  /** Of the dead letter; the name is that in snapshots. */
  readonly letterId?: string | undefined;
  readonly failureFunction?: FailureFunction | undefined;
  readonly savedEvents: readonly (readonly [eventId: string, data: readonly string[]])[];
  /** Absent: none. */
  readonly leftWaits?: readonly LeftWait[] | undefined;
}

/** What was written of the entries of a run as its deliveries carry them. */
export interface StepsPayload {
  /** Entries that are in it. */
  readonly count: number;
  /** The entries go. Deliveries under way have their bytes. */
  release(): void;
}

export class Run {
  readonly user: User;
  record: RunRecord;
  /** Among the runs of its user, in the order in which they came. */
  number = 0;
  state: RunState = runState.started;
  /** 0: it has not ended. */
  endedAtMs = 0;
  /** What its function returned. */
  result: Body | undefined = undefined;
  /** Of its first entry, kept when the entries are gone. */
  firstMessageId = "";
  entryBytes = 0;
  /** Of the failed message. */
  deadLetterId: string | undefined = undefined;
  failureFunction: FailureFunction | undefined = undefined;
  /** The answer to the call that reported the failure, if that is long. */
  failureAnswer: Body | undefined = undefined;
  readonly savedEvents = new Map<string, Buffer[]>();
  readonly waiters = new Set<Waiter>();
  /** What it waited for when it ended. */
  leftWaits: readonly LeftWait[] = [];
  /** Unfinished messages. */
  readonly messages = new Set<Message>();
  /** Deliveries to its endpoint under way. */
  readonly inFlight = new Set<number>();
  /** Its steps as deliveries carry them, as far as they were written and as long as that is stored (workflow/list-cache.ts). */
  stepsPayload: StepsPayload | undefined = undefined;
  /** Runs that it invoked, ended ones too until they are forgotten. */
  readonly children = new Set<Run>();
  #entries: Entry[] = [];
  readonly #bySequence = new Map<number, Entry>();
  /** Steps that waited and have their results among the entries. */
  readonly #waitedSteps = new Set<number>();
  /** What its record counts in the account of its user. */
  #memoryBytes: number;

  constructor(user: User, record: RunRecord) {
    this.user = user;
    this.record = record;
    this.#memoryBytes = runBytes(record);
    user.memory.add(this.#memoryBytes);
  }

  /** It is forgotten. */
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

  /** The entry that came with a message; undefined when it is gone, or never was one. */
  entryOf(sequence: number): Entry | undefined {
    return this.#bySequence.get(sequence);
  }

  /** Whether the result of a wait of this step is among the entries. */
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

  /** Takes all entries out. Whoever calls this frees their bodies and envelopes. */
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
   * True for a message whose outcome means nothing to the run any more: the run has ended, or another start took the
   * place of this one. The call that reports a failure is not one of these.
   */
  hasLeftBehind({ sequence, envelope }: Message): boolean {
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

/**
 * The envelope of a message: everything a publisher said about it, but for the
 * body and the moment. It never changes, and thousands of messages share one.
 *
 * Its JSON text is its form in the journal, and also what equal envelopes are
 * known by: `Envelopes` keeps one object for each text as long as a message
 * has it.
 */

import type { MemoryAccount } from "../../kernel/memory-guard.ts";
import type { TraceContext } from "../../kernel/trace-context.ts";
import type { CallType } from "./workflow-options.ts";

export interface FlowControl {
  readonly key: string;
  readonly parallelism?: number;
  /** Calls that may start in a window. */
  readonly rate?: number;
  /** The length of a window. */
  readonly periodMs?: number;
}

/** What is to be called after an attempt, or after the last one. */
export interface CallbackPlan {
  readonly url: string;
  /**
   * Options and headers for the callback's own message: names in lower case without the `callback-` prefix, such as
   * `retries` or `forward-x-team`, in the order they were given.
   */
  readonly given: readonly (readonly [name: string, value: string])[];
}

export interface Redaction {
  readonly body?: true;
  /** All headers, or these (lower case). */
  readonly headers?: true | readonly string[];
}

/** The part of a message in a workflow run (W.entry, W.headers). */
export interface WorkflowFields {
  readonly runId: string;
  /** `step`: delivers the entries of the run; `toCallback`: a call of a third party; `fromCallback`: what came of it. */
  readonly callType: CallType;
  readonly isInit?: true;
  /** Asks the endpoint to start the run once more. */
  readonly isUnknownSdk?: true;
  /** A long body may be left out. */
  readonly isLazy?: true;
  /** An answer has to show that it comes from a workflow. */
  readonly isDetected?: true;
  /** Body and headers are another URL's than the endpoint's: what was given for a time-out. */
  readonly isBodyOwn?: true;
  /** The run whose end this message reports. */
  readonly tellsOf?: string;
  /** The wait whose end this message reports. */
  readonly waited?: WaitFields;
}

/** How long a wait may take, as the log of its run shows it. */
export interface WaitFields {
  /** As given: `7d`. */
  readonly timeout: string;
  readonly deadlineMs: number;
  /** Of the step that waited. Absent in journals of before it was kept. */
  readonly stepId?: number;
}

export interface EnvelopeFields {
  /** As published. */
  readonly url: string;
  readonly method: string;
  /** What is sent to the destination: name, value, name, value, … `Content-Type` first if there is one. */
  readonly headers: readonly string[];
  readonly retriesMax: number;
  /** The expression as given. */
  readonly retryDelay?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** It was published for a moment (`Not-Before`), and not with a delay. */
  readonly isForMoment?: true | undefined;
  readonly callback?: CallbackPlan | undefined;
  readonly failureCallback?: CallbackPlan | undefined;
  readonly topicName?: string | undefined;
  readonly endpointName?: string | undefined;
  readonly scheduleId?: string | undefined;
  readonly queueName?: string | undefined;
  readonly callerIp?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly flowControl?: FlowControl | undefined;
  readonly redact?: Redaction | undefined;
  /** The message whose outcome this one reports: it is a callback, and has none of its own but a nested failure callback. */
  readonly callbackOf?: string | undefined;
  /** The queue whose next message starts only when this callback is done. */
  readonly holdsQueue?: string | undefined;
  /** How many deliveries of ours led to this message, one to the next; absent: none. */
  readonly hops?: number | undefined;
  /** Of the request that published it. It differs from one request to the next, so that hardly a message shares it. */
  readonly trace?: TraceContext | undefined;
  readonly workflow?: WorkflowFields | undefined;
}

/** An envelope takes its text, and the fields that were read from it: an estimate. */
const ENVELOPE_BYTES = 600;

function envelopeBytes(text: string): number {
  return ENVELOPE_BYTES + 3 * text.length;
}

/** An envelope that messages share. */
export class Envelope {
  readonly fields: EnvelopeFields;
  /** JSON. */
  readonly text: string;
  /** Scheme, host and port of the destination. */
  readonly origin: string;
  /** Messages and dead letters that have it. */
  useCount = 0;
  /** Of the user that had it first, as long as it is there. */
  account: MemoryAccount | undefined;

  constructor(fields: EnvelopeFields, text: string) {
    this.fields = fields;
    this.text = text;
    this.origin = new URL(fields.url).origin;
  }
}

export class Envelopes {
  readonly #byText = new Map<string, Envelope>();

  /** How many different ones there are. */
  get size(): number {
    return this.#byText.size;
  }

  /** The shared envelope with these fields, counted as used once more. */
  share(fields: EnvelopeFields): Envelope {
    return this.#share(JSON.stringify(fields), fields);
  }

  /** The shared envelope of a text that `Envelope.text` was. */
  shareText(text: string): Envelope {
    return this.#share(text, undefined);
  }

  /** An envelope counts for the user that has it first. */
  charge(envelope: Envelope, account: MemoryAccount): void {
    if (envelope.account !== undefined) return;
    envelope.account = account;
    account.add(envelopeBytes(envelope.text));
  }

  /** Ends one use. */
  release(envelope: Envelope): void {
    envelope.useCount -= 1;
    if (envelope.useCount > 0) return;
    this.#byText.delete(envelope.text);
    envelope.account?.add(-envelopeBytes(envelope.text));
    envelope.account = undefined;
  }

  #share(text: string, fields: EnvelopeFields | undefined): Envelope {
    let envelope = this.#byText.get(text);
    if (envelope === undefined) {
      envelope = new Envelope(fields ?? JSON.parse(text), text);
      this.#byText.set(text, envelope);
    }
    envelope.useCount += 1;
    return envelope;
  }
}

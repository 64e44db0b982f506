/**
 * The envelope of a message: all options of the publisher, without the body and
 * the time. It never changes, and thousands of messages share one.
 *
 * Its JSON text is its form in the journal, and the key by which equal envelopes
 * are shared: `Envelopes` has one object for each text while a message uses it.
 */

import { type Bytes, bytesFromText } from "../../kernel/bytes.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
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

/** The callback after each attempt, or after the last one. */
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
  /** `step`: delivers the entries of the run; `toCallback`: calls a third party; `fromCallback`: the result of that. */
  readonly callType: CallType;
  readonly isInit?: true;
  /** Makes the endpoint start the run again. */
  readonly isUnknownSdk?: true;
  /** A long body may be left out. */
  readonly isLazy?: true;
  /** The answer must show that it comes from a workflow endpoint. */
  readonly isDetected?: true;
  /** Body and headers are those of a time-out, for a URL that may not be the endpoint. */
  readonly isBodyOwn?: true;
  /** The run whose end this message reports. */
  readonly tellsOf?: string;
  /** The wait whose end this message reports. */
  readonly waited?: WaitFields;
}

/** The time-out of a wait, for the log of its run. */
export interface WaitFields {
  /** As given: `7d`. */
  readonly timeout: string;
  readonly deadlineMs: number;
  /** Of the step that waited. Absent in old journals. */
  readonly stepId?: number;
}

export interface EnvelopeFields {
  /** As published. */
  readonly url: string;
  readonly method: string;
  /** The headers sent to the destination: name, value, name, value, … `Content-Type` first if present. */
  readonly headers: readonly string[];
  readonly retriesMax: number;
  /** The expression as given. */
  readonly retryDelay?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** Published for a time (`Not-Before`), and not with a delay. */
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
  /** The message whose outcome this callback reports. A callback has no callback, except a nested failure callback. */
  readonly callbackOf?: string | undefined;
  /** The queue whose next message starts only when this callback is done. */
  readonly holdsQueue?: string | undefined;
  /** The length of the chain of our deliveries that led to this message; absent: 0. */
  readonly hops?: number | undefined;
  /** Of the request that published it. It differs between requests, so messages rarely share it. */
  readonly trace?: TraceContext | undefined;
  readonly workflow?: WorkflowFields | undefined;
}

/** An estimate: the text of an envelope, and the fields that were read from it. */
const ENVELOPE_BYTES = 600;

function envelopeBytes(text: string): number {
  return ENVELOPE_BYTES + 3 * text.length;
}

/** An envelope that messages share. */
export class Envelope {
  readonly fields: EnvelopeFields;
  /** JSON. */
  readonly text: string;
  /** The text as it is recorded, with each message. */
  readonly bytes: Bytes;
  /** Scheme, host and port of the destination. */
  readonly origin: string;
  /** Count of messages and dead letters that use it. */
  useCount = 0;
  /** The account of its first user, until that is dropped. */
  account: MemoryAccount | undefined;

  constructor(fields: EnvelopeFields, text: string) {
    this.fields = fields;
    this.text = text;
    this.bytes = bytesFromText(text);
    this.origin = new URL(fields.url).origin;
  }
}

/** Fields of many envelopes in a row, and the last of these envelopes: the fields are written as text only once. */
export interface EnvelopeSource {
  readonly fields: EnvelopeFields;
  envelope?: Envelope;
}

export class Envelopes {
  readonly #byText = new Map<string, Envelope>();

  /** Count of different envelopes. */
  get size(): number {
    return this.#byText.size;
  }

  /** The shared envelope with these fields; counts one use. */
  share(fields: EnvelopeFields): Envelope {
    return this.#share(JSON.stringify(fields), fields);
  }

  /** Like `share`. */
  shareFrom(source: EnvelopeSource): Envelope {
    const last = source.envelope;
    if (last === undefined) {
      source.envelope = this.share(source.fields);
      return source.envelope;
    }
    let envelope: Envelope | undefined = last;
    if (last.useCount === 0) {
      envelope = this.#byText.get(last.text);
      if (envelope === undefined) {
        envelope = last;
        this.#byText.set(last.text, last);
      }
      source.envelope = envelope;
    }
    envelope.useCount += 1;
    return envelope;
  }

  /** The shared envelope with this `Envelope.text`. */
  shareText(text: string): Envelope {
    return this.#share(text, undefined);
  }

  /** An envelope counts for its first user. */
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
      envelope = new Envelope(fields ?? (parseJsonText(text) as EnvelopeFields), text);
      this.#byText.set(text, envelope);
    }
    envelope.useCount += 1;
    return envelope;
  }
}

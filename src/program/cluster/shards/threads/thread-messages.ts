/**
 * What the front of an area and a thread with shards of it send each other. The
 * messages of a turn are posted together, because each post wakes the other thread.
 *
 *     front                    engines
 *     request            ->
 *                        <-    reply, or not executed
 *                        <-    or stream: the head of an event stream
 *     opened, taken      ->
 *                        <-    chunk …, end or abort
 *     closed             ->
 *                        <-    shard: the state of a shard has changed
 *
 * (1) Messages arrive in the order they were sent. So the front knows that a
 *     shard is not served before it learns that a request for it was not carried out.
 * (2) Bytes are copied into a buffer of their own, which moves to the other thread:
 *     a message never takes more of the memory below a view than the view.
 */
import type { MessagePort } from "node:worker_threads";
import type { TraceContext } from "../../../../kernel/trace-context.ts";
import type { HostedState } from "../hosted-shard.ts";

export interface RequestMessage {
  readonly kind: "request";
  /** Of the front: counts its requests to this thread. */
  readonly number: number;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** For log lines. */
  readonly id: string;
  readonly trace: TraceContext | undefined;
  /** Whether somebody wants to know which commands of it failed. */
  readonly isWatched: boolean;
  /** Undefined: an empty one. */
  readonly body: Uint8Array | undefined;
}

export type FromFront =
  | RequestMessage
  | { readonly kind: "opened"; readonly number: number }
  /** The peer of an event stream has taken so many bytes since it began. */
  | { readonly kind: "taken"; readonly number: number; readonly bytes: number }
  | { readonly kind: "closed"; readonly number: number };

export interface ReplyMessage {
  readonly kind: "reply";
  readonly number: number;
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string | Uint8Array;
  readonly bodyIsBytes: boolean;
  readonly route: string | undefined;
  /** Texts of its commands that failed, if it is watched. */
  readonly failures: readonly string[];
}

export interface StreamMessage {
  readonly kind: "stream";
  readonly number: number;
  readonly status: number;
  readonly headers: readonly string[];
  readonly route: string | undefined;
}

export type FromEngines =
  | ReplyMessage
  | StreamMessage
  /** The thread serves no shard for it. */
  | { readonly kind: "not executed"; readonly number: number }
  | { readonly kind: "chunk"; readonly number: number; readonly chunk: string | Uint8Array }
  | { readonly kind: "end"; readonly number: number }
  | { readonly kind: "abort"; readonly number: number }
  | { readonly kind: "shard"; readonly shard: number; readonly state: HostedState };

/** The messages of this turn to the other thread. */
export class MessageQueue<Message> {
  readonly #port: Pick<MessagePort, "postMessage">;
  #messages: Message[] = [];
  #moving: ArrayBuffer[] = [];

  constructor(port: Pick<MessagePort, "postMessage">) {
    this.#port = port;
  }

  add(message: Message): void {
    if (this.#messages.length === 0) setImmediate(() => this.#post());
    this.#messages.push(message);
  }

  /** A copy of the bytes, for a message that is added in the same turn. keeps (2) */
  own(bytes: Uint8Array): Uint8Array {
    const copy = new Uint8Array(bytes);
    this.#moving.push(copy.buffer);
    return copy;
  }

  #post(): void {
    const messages = this.#messages;
    const moving = this.#moving;
    this.#messages = [];
    this.#moving = [];
    this.#port.postMessage(messages, moving);
  }
}

/** Bytes that have arrived, which nobody else uses. */
export function arrived(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

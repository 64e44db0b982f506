/**
 * The front's end of the seam to another thread of its area: requests go there, and
 * answers and event streams come back.
 *
 * (1) A request is sent once. It was certainly not carried out only if the thread
 *     says so.
 * (2) The thread learns how many bytes of an event stream the peer has taken, so
 *     that it treats a slow reader as its own listener would.
 */
import type { MessagePort } from "node:worker_threads";
import type { HttpReply, HttpRequest, HttpStream, StreamSink } from "../../../../edge/handler.ts";
import { BUDGETED_REPLY_BYTES_MIN } from "../../../../edge/limits/held-bytes.ts";
import { abandonedReply } from "../../../../edge/respond.ts";
import type { Clock } from "../../../../kernel/clock.ts";
import type { HostedState } from "../hosted-shard.ts";
import {
  arrived,
  type FromEngines,
  type FromFront,
  MessageQueue,
  type ReplyMessage,
  type StreamMessage,
} from "./thread-messages.ts";

/** How sending a request to a thread ended. */
export type ThreadOutcome =
  | { readonly kind: "answered"; readonly reply: HttpReply | HttpStream }
  /** The thread serves no shard for it. */
  | { readonly kind: "not executed" }
  /** The thread has ended, or the answer has no room. */
  | { readonly kind: "lost" };

export interface ThreadClientOptions {
  readonly port: MessagePort;
  readonly clock: Pick<Clock, "after">;
  /** A shard of the thread has another state. */
  onShard(shard: number, state: HostedState): void;
}

/** How often to look whether the peer of an event stream has taken its bytes. */
const TAKEN_LOOK_MS = 20;

interface Sent {
  readonly request: HttpRequest;
  readonly resolve: (outcome: ThreadOutcome) => void;
}

interface OpenStream {
  readonly sink: StreamSink;
  writtenBytes: number;
  takenBytes: number;
  cancelLook: (() => void) | undefined;
}

export class ThreadClient {
  readonly #options: ThreadClientOptions;
  readonly #queue: MessageQueue<FromFront>;
  /** By number, until they are answered. */
  readonly #sent = new Map<number, Sent>();
  /** By the number of their request. */
  readonly #streams = new Map<number, OpenStream>();
  #count = 0;
  #hasEnded = false;

  constructor(options: ThreadClientOptions) {
    this.#options = options;
    this.#queue = new MessageQueue(options.port);
    options.port.on("message", (messages: readonly FromEngines[]) => {
      for (const message of messages) this.#receive(message);
    });
    options.port.on("close", () => this.#end());
  }

  /** Never rejects. keeps (1) */
  send(request: HttpRequest): Promise<ThreadOutcome> {
    if (this.#hasEnded) return Promise.resolve({ kind: "lost" });
    this.#count += 1;
    const number = this.#count;
    const { method, target, rawHeaders, remoteAddress, remotePort, id, trace, body } = request;
    this.#queue.add({
      kind: "request",
      ...{ number, method, target, rawHeaders, remoteAddress, remotePort, id, trace },
      isWatched: request.commandFailed !== undefined,
      body: body.length === 0 ? undefined : this.#queue.own(body),
    });
    return new Promise((resolve) => this.#sent.set(number, { request, resolve }));
  }

  #receive(message: FromEngines): void {
    switch (message.kind) {
      case "reply":
        this.#settle(message.number, (request) => replied(request, message));
        break;
      case "stream":
        this.#settle(message.number, (request) => this.#begun(request, message));
        break;
      case "not executed":
        this.#settle(message.number, () => message);
        break;
      case "chunk":
        this.#write(message.number, message.chunk);
        break;
      case "end":
        this.#streams.get(message.number)?.sink.end();
        break;
      case "abort":
        this.#streams.get(message.number)?.sink.abort();
        break;
      case "shard":
        this.#options.onShard(message.shard, message.state);
        break;
      default: {
        const never: never = message;
        throw new Error(`Unknown message: ${String(never)}`);
      }
    }
  }

  #settle(number: number, outcomeOf: (request: HttpRequest) => ThreadOutcome): void {
    const sent = this.#sent.get(number);
    this.#sent.delete(number);
    sent?.resolve(outcomeOf(sent.request));
  }

  #begun(request: HttpRequest, { number, status, headers, route }: StreamMessage): ThreadOutcome {
    if (request.isAbandoned === true) {
      this.#queue.add({ kind: "closed", number });
      return { kind: "answered", reply: abandonedReply };
    }
    const open = (sink: StreamSink): (() => void) => {
      const stream: OpenStream = { sink, writtenBytes: 0, takenBytes: 0, cancelLook: undefined };
      if (this.#hasEnded) sink.abort();
      else this.#streams.set(number, stream);
      this.#queue.add({ kind: "opened", number });
      return () => {
        stream.cancelLook?.();
        this.#streams.delete(number);
        this.#queue.add({ kind: "closed", number });
      };
    };
    return { kind: "answered", reply: { status, headers, open, ...(route !== undefined && { route }) } };
  }

  #write(number: number, chunk: string | Uint8Array): void {
    const stream = this.#streams.get(number);
    if (stream === undefined) return;
    stream.writtenBytes += Buffer.byteLength(chunk);
    stream.sink.write(typeof chunk === "string" ? chunk : arrived(chunk));
    this.#reportTaken(number, stream);
  }

  /** keeps (2) */
  #reportTaken(number: number, stream: OpenStream): void {
    const { queuedBytes } = stream.sink;
    const bytes = stream.writtenBytes - queuedBytes;
    if (bytes > stream.takenBytes) {
      stream.takenBytes = bytes;
      this.#queue.add({ kind: "taken", number, bytes });
    }
    if (queuedBytes === 0 || stream.cancelLook !== undefined) return;
    stream.cancelLook = this.#options.clock.after(TAKEN_LOOK_MS, () => {
      stream.cancelLook = undefined;
      this.#reportTaken(number, stream);
    });
  }

  /** The thread has ended, and the process is about to. */
  #end(): void {
    this.#hasEnded = true;
    for (const { resolve } of this.#sent.values()) resolve({ kind: "lost" });
    this.#sent.clear();
    for (const { sink } of [...this.#streams.values()]) sink.abort();
  }
}

function replied(request: HttpRequest, message: ReplyMessage): ThreadOutcome {
  const { status, headers, body, bodyIsBytes, route, failures } = message;
  for (const text of failures) request.commandFailed?.(text);
  const reply: HttpReply = {
    ...{ status, headers, bodyIsBytes, body: typeof body === "string" ? body : arrived(body) },
    ...(route !== undefined && { route }),
  };
  const isTooLarge = body.length >= BUDGETED_REPLY_BYTES_MIN && request.takeReply?.(body.length) === false;
  return isTooLarge ? { kind: "lost" } : { kind: "answered", reply };
}

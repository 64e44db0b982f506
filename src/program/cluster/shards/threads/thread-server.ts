/**
 * A thread's end of the seam to the front of its area: requests come from there,
 * and are handled as those of a listener.
 *
 * (1) The bytes of requests and of their replies count in the budget of this thread
 *     too, until the answer has left it.
 * (2) A request is not forwarded again: without a shard for it the front is told.
 * (3) A tenant is charged for the time that its request takes here.
 */
import type { MessagePort } from "node:worker_threads";
import { busy, internalFailure, type RequestFailure } from "../../../../edge/errors.ts";
import type {
  HttpReply,
  HttpRequest,
  HttpService,
  HttpStream,
  RequestHead,
  StreamSink,
} from "../../../../edge/handler.ts";
import { headerOf } from "../../../../edge/http/framing.ts";
import type { ByteBudget, Owner } from "../../../../edge/limits/byte-budget.ts";
import { byteMs } from "../../../../edge/limits/byte-cost.ts";
import { HeldBytes } from "../../../../edge/limits/held-bytes.ts";
import { refusalOf } from "../../../../edge/respond.ts";
import { AssertionFailure } from "../../../../kernel/assert.ts";
import type { Clock } from "../../../../kernel/clock.ts";
import { faultFields, type Log } from "../../../../kernel/log.ts";
import type { TraceContext } from "../../../../kernel/trace-context.ts";
import type { Tenant } from "../../../../kernel/turns.ts";
import type { HostedState } from "../hosted-shard.ts";
import { arrived, type FromEngines, type FromFront, MessageQueue, type RequestMessage } from "./thread-messages.ts";

export interface ThreadServerOptions {
  readonly port: MessagePort;
  /** Of the thread. */
  readonly budget: ByteBudget;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
  /** The forms of errors of the area. */
  readonly forms: Pick<HttpService, "refusal">;
  /** The engine for a request; undefined: this thread serves none for it. */
  serving(head: RequestHead): HttpService | undefined;
}

/** Unsent bytes of an event stream above which its peer is slow. */
const QUEUED_BYTES_MAX = 64 * 1024;

interface OpenStream {
  readonly reply: HttpStream;
  sentBytes: number;
  takenBytes: number;
  closed: (() => void) | undefined;
}

export class ThreadServer {
  readonly #options: ThreadServerOptions;
  readonly #queue: MessageQueue<FromEngines>;
  /** By the number of their request. */
  readonly #streams = new Map<number, OpenStream>();

  constructor(options: ThreadServerOptions) {
    this.#options = options;
    this.#queue = new MessageQueue(options.port);
    options.port.on("message", (messages: readonly FromFront[]) => {
      for (const message of messages) this.#receive(message);
    });
  }

  /** The state of a shard has changed. */
  became(shard: number, state: HostedState): void {
    this.#queue.add({ kind: "shard", shard, state });
  }

  #receive(message: FromFront): void {
    switch (message.kind) {
      case "request":
        this.#handle(message);
        break;
      case "opened":
        this.#open(message.number);
        break;
      case "taken": {
        const stream = this.#streams.get(message.number);
        if (stream !== undefined) stream.takenBytes = message.bytes;
        break;
      }
      case "closed": {
        const stream = this.#streams.get(message.number);
        this.#streams.delete(message.number);
        stream?.closed?.();
        break;
      }
      default: {
        const never: never = message;
        throw new Error(`Unknown message: ${String(never)}`);
      }
    }
  }

  #handle(message: RequestMessage): void {
    const { budget, clock, serving } = this.#options;
    const { number } = message;
    const request = new ThreadRequest(message, budget);
    const area = serving(request);
    if (area === undefined) {
      this.#queue.add({ kind: "not executed", number }); // keeps (2)
      return;
    }
    // keeps (1)
    if (!request.held.takeBody(request.body.length)) {
      this.#answer(number, request, this.#worded(busy, request.target));
      return;
    }
    const startedAtMs = clock.monotonicMs();
    try {
      const reply = area.handle(request);
      if (reply instanceof Promise)
        reply.then(
          (late) => this.#answer(number, request, late),
          (fault: unknown) => this.#fail(number, request, fault),
        );
      else this.#answer(number, request, reply);
    } catch (fault) {
      this.#fail(number, request, fault);
    }
    const nowMs = clock.monotonicMs();
    request.payer?.charge(nowMs - startedAtMs + request.body.length * byteMs(false), nowMs); // keeps (3)
  }

  #answer(number: number, request: ThreadRequest, reply: HttpReply | HttpStream): void {
    const { status, headers, route } = reply;
    if ("open" in reply) {
      this.#streams.set(number, { reply, sentBytes: 0, takenBytes: 0, closed: undefined });
      this.#queue.add({ kind: "stream", number, status, headers, route });
    } else {
      const { bodyIsBytes = false } = reply;
      const body = typeof reply.body === "string" ? reply.body : this.#queue.own(reply.body);
      const { failures } = request;
      this.#queue.add({ kind: "reply", number, status, headers, body, bodyIsBytes, route, failures });
    }
    request.held.release(); // keeps (1)
  }

  /** Our bug: the caller gets an id, the log has the details. A failed assertion stops the process. */
  #fail(number: number, request: ThreadRequest, fault: unknown): void {
    this.#options.log.error("request failed", { requestId: request.id, ...faultFields(fault) });
    const reply = this.#worded(internalFailure(request.id), request.target);
    this.#answer(number, request, { ...reply, route: "failed" });
    if (!(fault instanceof AssertionFailure)) return;
    queueMicrotask(() => {
      throw fault;
    });
  }

  #open(number: number): void {
    const stream = this.#streams.get(number);
    if (stream === undefined) return;
    const sink: StreamSink = {
      write: (chunk) => {
        stream.sentBytes += Buffer.byteLength(chunk);
        this.#queue.add({ kind: "chunk", number, chunk: typeof chunk === "string" ? chunk : this.#queue.own(chunk) });
        return sink.queuedBytes <= QUEUED_BYTES_MAX;
      },
      get queuedBytes() {
        return stream.sentBytes - stream.takenBytes;
      },
      end: () => this.#queue.add({ kind: "end", number }),
      abort: () => this.#queue.add({ kind: "abort", number }),
    };
    stream.closed = stream.reply.open(sink);
  }

  #worded(failure: RequestFailure, target: string): HttpReply {
    return refusalOf(this.#options.forms, failure, target);
  }
}

/** A request that the front has sent. */
class ThreadRequest implements HttpRequest {
  readonly body: Buffer;
  readonly held: HeldBytes;
  readonly failures: string[] = [];
  readonly commandFailed: HttpRequest["commandFailed"];
  payer: Tenant | undefined;
  readonly #message: RequestMessage;

  constructor(message: RequestMessage, budget: ByteBudget) {
    this.#message = message;
    this.body = message.body === undefined ? Buffer.alloc(0) : arrived(message.body);
    this.held = new HeldBytes(budget, { heldBytes: 0, unsentBytes: 0 });
    this.commandFailed = message.isWatched ? (text) => void this.failures.push(text) : undefined;
  }

  get method(): string {
    return this.#message.method;
  }

  get target(): string {
    return this.#message.target;
  }

  get rawHeaders(): readonly string[] {
    return this.#message.rawHeaders;
  }

  get remoteAddress(): string {
    return this.#message.remoteAddress;
  }

  get remotePort(): number {
    return this.#message.remotePort;
  }

  get id(): string {
    return this.#message.id;
  }

  get trace(): TraceContext | undefined {
    return this.#message.trace;
  }

  header(name: string): string | undefined {
    return headerOf(this.#message.rawHeaders, name);
  }

  claim(owner: Owner): RequestFailure | undefined {
    return this.held.claim(owner);
  }

  holdReply(bytes: number): void {
    this.held.addReply(bytes);
  }

  takeReply(bytes: number): boolean {
    return this.held.takeReply(bytes);
  }

  get replyBytesMax(): number {
    return this.held.replyBytesMax;
  }
}

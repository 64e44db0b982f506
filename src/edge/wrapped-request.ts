/** A request that an area sees with other values than the listener: below a prefix, or forwarded by another node. */
import type { TraceContext } from "../kernel/trace-context.ts";
import type { Tenant } from "../kernel/turns.ts";
import type { RequestFailure } from "./errors.ts";
import type { HeadMemo, HttpRequest, RequestHead } from "./handler.ts";
import type { Owner } from "./limits/byte-budget.ts";

/** What differs from the request of the listener. */
interface Changed extends Partial<Pick<RequestHead, "target" | "remoteAddress" | "remotePort">> {
  /** The headers, by those of the listener; called when they are read. */
  readonly headersOf?: (rawHeaders: readonly string[]) => readonly string[];
  /** Set if all these values are the same whenever the head repeats. */
  readonly memo?: HeadMemo | undefined;
}

/** The head of a request with some other values; everything else is that of `head`. */
export class WrappedHead<Head extends RequestHead = RequestHead> implements RequestHead {
  readonly target: string;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly memo: HeadMemo | undefined;
  readonly #headersOf: Changed["headersOf"];
  #rawHeaders: readonly string[] | undefined;
  protected readonly head: Head;

  constructor(
    head: Head,
    {
      target = head.target,
      headersOf,
      memo,
      remoteAddress = head.remoteAddress,
      remotePort = head.remotePort,
    }: Changed,
  ) {
    this.head = head;
    this.target = target;
    this.memo = memo;
    this.#headersOf = headersOf;
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  get method(): string {
    return this.head.method;
  }

  get rawHeaders(): readonly string[] {
    if (this.#headersOf === undefined) return this.head.rawHeaders;
    this.#rawHeaders ??= this.#headersOf(this.head.rawHeaders);
    return this.#rawHeaders;
  }

  get id(): string {
    return this.head.id;
  }

  get trace(): TraceContext | undefined {
    return this.head.trace;
  }

  header(name: string): string | undefined {
    return this.head.header(name);
  }

  claim(owner: Owner): RequestFailure | undefined {
    return this.head.claim?.(owner);
  }

  holdReply(bytes: number): void {
    this.head.holdReply?.(bytes);
  }

  takeReply(bytes: number): boolean {
    return this.head.takeReply?.(bytes) ?? true;
  }

  get replyBytesMax(): number {
    return this.head.replyBytesMax ?? Number.POSITIVE_INFINITY;
  }
}

export class WrappedRequest extends WrappedHead<HttpRequest> implements HttpRequest {
  get body(): Buffer {
    return this.head.body;
  }

  set payer(payer: Tenant | undefined) {
    this.head.payer = payer;
  }

  get payer(): Tenant | undefined {
    return this.head.payer;
  }

  get isAbandoned(): boolean {
    return this.head.isAbandoned === true;
  }

  get commandFailed(): HttpRequest["commandFailed"] {
    return this.head.commandFailed;
  }

  waitsForTurn(): void {
    this.head.waitsForTurn?.();
  }

  hadTurn(): void {
    this.head.hadTurn?.();
  }
}

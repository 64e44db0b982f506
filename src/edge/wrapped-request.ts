/** A request that an area sees with other values than the listener: below a prefix, or forwarded by another node. */
import type { TraceContext } from "../kernel/trace-context.ts";
import type { Tenant } from "../kernel/turns.ts";
import type { RequestFailure } from "./errors.ts";
import type { HttpRequest, RequestHead } from "./handler.ts";
import type { Owner } from "./limits/byte-budget.ts";

/** What differs from the request of the listener. */
type Changed = Partial<Pick<RequestHead, "target" | "rawHeaders" | "remoteAddress" | "remotePort">>;

/** The head of a request with some other values; everything else is that of `head`. */
export class WrappedHead<Head extends RequestHead = RequestHead> implements RequestHead {
  readonly target: string;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly #rawHeaders: readonly string[] | undefined;
  protected readonly head: Head;

  constructor(
    head: Head,
    { target = head.target, rawHeaders, remoteAddress = head.remoteAddress, remotePort = head.remotePort }: Changed,
  ) {
    this.head = head;
    this.target = target;
    this.#rawHeaders = rawHeaders;
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  get method(): string {
    return this.head.method;
  }

  get rawHeaders(): readonly string[] {
    return this.#rawHeaders ?? this.head.rawHeaders;
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

/**
 * All areas on one port, for hosts with only one: `/store`, `/vector` and
 * `/messaging` are the base paths, and each area sees paths without its prefix.
 */
import type { TraceContext } from "../../kernel/trace-context.ts";
import type { Tenant } from "../../kernel/turns.ts";
import { noSuchArea, type RequestFailure } from "../errors.ts";
import type { HttpReply, HttpRequest, HttpService, RequestHead } from "../handler.ts";
import type { Owner } from "../limits/byte-budget.ts";
import { failureReply } from "../respond.ts";

/** Areas by prefix; a prefix begins with a slash and has no other slash. */
export function areaByPrefix(areas: Readonly<Record<string, HttpService>>): HttpService {
  const byPrefix = new Map(Object.entries(areas));
  const unknown: HttpReply = { ...failureReply(noSuchArea([...byPrefix.keys()])), route: "unknown area" };
  const find = (target: string): { area: HttpService; rest: string } | undefined => {
    const prefix = /^\/[^/?]*/.exec(target)?.[0] ?? "";
    const area = byPrefix.get(prefix);
    if (area === undefined) return undefined;
    const rest = target.slice(prefix.length);
    return { area, rest: rest.startsWith("/") ? rest : `/${rest}` };
  };
  return {
    handle(request) {
      const found = find(request.target);
      return found === undefined ? unknown : found.area.handle(new PrefixedRequest(request, found.rest));
    },
    bodyBytesMax(target) {
      const found = find(target);
      return found === undefined ? 0 : found.area.bodyBytesMax(found.rest);
    },
    refuseEarly(head) {
      const found = find(head.target);
      return found === undefined ? unknown : found.area.refuseEarly?.(new PrefixedHead(head, found.rest));
    },
    refusal(failure, target) {
      const found = find(target);
      return found?.area.refusal?.(failure, found.rest) ?? failureReply(failure);
    },
  };
}

/** A head as the area of the prefix sees it. */
class PrefixedHead<Head extends RequestHead> implements RequestHead {
  readonly target: string;
  protected readonly head: Head;

  constructor(head: Head, target: string) {
    this.head = head;
    this.target = target;
  }

  get method(): string {
    return this.head.method;
  }

  get rawHeaders(): readonly string[] {
    return this.head.rawHeaders;
  }

  get remoteAddress(): string {
    return this.head.remoteAddress;
  }

  get remotePort(): number {
    return this.head.remotePort;
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
}

class PrefixedRequest extends PrefixedHead<HttpRequest> implements HttpRequest {
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
}

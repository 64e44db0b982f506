/**
 * The port of a node for requests that other nodes forward.
 *
 * (1) A request that no node of the cluster has signed is refused, before a large
 *     body is read.
 * (2) A request is never forwarded a second time: a node that does not serve the
 *     area answers 421, and the node that the client asked decides what follows.
 * (3) The area authenticates the client again, and sees the client's address.
 * (4) The same holds for connections of RESP clients, which come as CONNECT requests.
 *     A head that an attacker repeats makes a connection that is not logged in.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";
import { notOwner, notSigned, type RequestFailure } from "../errors.ts";
import type { HttpReply, HttpService, RequestHead } from "../handler.ts";
import type { OnTunnel } from "../http/transport.ts";
import { refusalOf } from "../respond.ts";
import { WrappedHead, WrappedRequest } from "../wrapped-request.ts";
import { type Caller, FORWARDED, findHeader, PROBE, readSignature, shardOfTunnel } from "./signature.ts";

export interface InnerServiceOptions {
  /** The name of the area, for texts. */
  readonly area: string;
  /** Of the cluster. */
  readonly key: Uint8Array;
  readonly clock: Pick<Clock, "nowMs">;
  /** The limits and the forms of errors of the area. */
  readonly service: Pick<HttpService, "bodyBytesMax" | "refusal">;
  /**
   * What this node serves: for a forwarded request, or the port of a probe, which is the number of a shard or 0. Without
   * either, anything.
   */
  serving(asked?: { readonly head: RequestHead; readonly caller: Caller }): HttpService | undefined;
  /** A request was refused that no node of the cluster has signed. */
  onUnsigned(head: { readonly remoteAddress: string }): void;
}

/** The owner's side of forwarding. */
export function innerService(options: InnerServiceOptions): HttpService {
  const { area, key, clock, service, serving, onUnsigned } = options;
  const worded = (failure: RequestFailure, target: string): HttpReply => ({
    ...refusalOf(service, failure, target),
    route: "not executed",
  });
  const callerOf = (head: RequestHead, bodyBytes: number): Caller | undefined => {
    const { method, target, rawHeaders } = head;
    const signed = { method, target, rawHeaders, bodyBytes };
    const caller = readSignature(key, signed, { value: head.header(FORWARDED), nowMs: clock.nowMs() });
    if (caller === undefined) onUnsigned(head);
    return caller;
  };
  return {
    handle(request) {
      const caller = callerOf(request, request.body.length);
      if (caller === undefined) return worded(notSigned, request.target); // keeps (1)
      const local = serving({ head: request, caller });
      if (local === undefined) return worded(notOwner(area), request.target); // keeps (2)
      return caller.address === PROBE.address ? SERVING : local.handle(new WrappedRequest(request, seen(caller)));
    },
    bodyBytesMax: (target) => service.bodyBytesMax(target),
    refuseEarly(head) {
      const caller = callerOf(head, Number(head.header("content-length") ?? 0));
      if (caller === undefined) return worded(notSigned, head.target);
      const local = serving({ head, caller });
      if (local === undefined) return worded(notOwner(area), head.target);
      return local.refuseEarly?.(new WrappedHead(head, seen(caller)));
    },
    // What a node refuses while it stops, another one may carry out.
    refusal: (failure, target) =>
      serving() === undefined ? worded(notOwner(area), target) : refusalOf(service, failure, target),
  };
}

export interface InnerTunnelsOptions extends Pick<InnerServiceOptions, "area" | "key" | "clock" | "onUnsigned"> {
  /** What takes the connection of a client, if this node serves the shard with this number. */
  accept(shard: number, caller: Caller): ((socket: Socket) => void) | undefined;
}

/** The owner's side of connections that other nodes pass on. keeps (4) */
export function innerTunnels({ area, key, clock, accept, onUnsigned }: InnerTunnelsOptions): OnTunnel {
  return ({ method, target, rawHeaders }, { remoteAddress = "" }) => {
    const signed = { method, target, rawHeaders, bodyBytes: 0 };
    const caller = readSignature(key, signed, { value: findHeader(rawHeaders, FORWARDED), nowMs: clock.nowMs() });
    if (caller === undefined) {
      onUnsigned({ remoteAddress });
      return notSigned;
    }
    const shard = shardOfTunnel(target);
    return (shard === undefined ? undefined : accept(shard, caller)) ?? notOwner(area);
  };
}

/** The answer to a probe. */
const SERVING: HttpReply = { status: 204, headers: [], body: "", route: "probe" };

/** keeps (3) */
function seen({ address, port }: Caller): { readonly remoteAddress: string; readonly remotePort: number } {
  return { remoteAddress: address, remotePort: port };
}

/**
 * The port of a node for requests that other nodes forward. Only nodes of the
 * cluster can connect to it (edge/http/shared-key.ts).
 *
 * (1) A request that does not say for which client it was forwarded is refused.
 * (2) A request is never forwarded a second time: a node that does not serve the
 *     area answers 421, and the node that the client asked decides what follows.
 * (3) The area authenticates the client again, and sees the client's address.
 * (4) The same holds for connections of RESP clients, which come as CONNECT requests, or
 *     as tunnels of a link, where the frame that opens one has the address.
 *     A head that an attacker repeats makes a connection that is not logged in.
 */
import { notForwarded, notOwner, type RequestFailure } from "../errors.ts";
import type { HeadMemo, HttpReply, HttpService, RequestHead } from "../handler.ts";
import type { OnTunnel } from "../http/transport.ts";
import { refusalOf } from "../respond.ts";
import { WrappedHead, WrappedRequest } from "../wrapped-request.ts";
import type { ByteStream } from "./byte-stream.ts";
import {
  type Caller,
  FORWARDED,
  findHeader,
  PROBE,
  readForwarded,
  shardOfTunnel,
  withoutForwarded,
} from "./forwarded-head.ts";

export interface InnerServiceOptions {
  /** The name of the area, for texts. */
  readonly area: string;
  /** The limits and the forms of errors of the area. */
  readonly service: Pick<HttpService, "bodyBytesMax" | "refusal">;
  /**
   * What this node serves: for a forwarded request, or the port of a probe, which is the number of a shard or 0. Without
   * either, anything.
   */
  serving(asked?: { readonly head: RequestHead; readonly caller: Caller }): HttpService | undefined;
}

/** The owner's side of forwarding. */
export function innerService({ area, service, serving }: InnerServiceOptions): HttpService {
  const worded = (failure: RequestFailure, target: string): HttpReply => ({
    ...refusalOf(service, failure, target),
    route: "not executed",
  });
  return {
    handle(request) {
      const learnt = callerOf(request);
      const { caller } = learnt;
      if (caller === undefined) return worded(notForwarded, request.target); // keeps (1)
      const seen = new WrappedRequest(request, changed(caller, request.memo && learnt.memo));
      const local = serving({ head: seen, caller });
      if (local === undefined) return worded(notOwner(area), request.target); // keeps (2)
      return caller.address === PROBE.address ? SERVING : local.handle(seen);
    },
    bodyBytesMax: (target) => service.bodyBytesMax(target),
    refuseEarly(head) {
      const learnt = callerOf(head);
      const { caller } = learnt;
      if (caller === undefined) return worded(notForwarded, head.target);
      const seen = new WrappedHead(head, changed(caller, head.memo && learnt.memo));
      const local = serving({ head: seen, caller });
      if (local === undefined) return worded(notOwner(area), head.target);
      return local.refuseEarly?.(seen);
    },
    // What a node refuses while it stops, another one may carry out.
    refusal: (failure, target) =>
      serving() === undefined ? worded(notOwner(area), target) : refusalOf(service, failure, target),
  };
}

export interface InnerTunnelsOptions extends Pick<InnerServiceOptions, "area"> {
  /** What takes the connection of a client, if this node serves the shard with this number. */
  accept(shard: number, caller: Caller): ((stream: ByteStream) => void) | undefined;
}

/** The owner's side of connections that other nodes pass on. keeps (4) */
export function innerTunnels({ area, accept }: InnerTunnelsOptions): OnTunnel {
  return ({ target, rawHeaders }) => {
    const caller = readForwarded(findHeader(rawHeaders, FORWARDED));
    if (caller === undefined) return notForwarded; // keeps (1)
    const shard = shardOfTunnel(target);
    return (shard === undefined ? undefined : accept(shard, caller)) ?? notOwner(area);
  };
}

/** The answer to a probe. */
const SERVING: HttpReply = { status: 204, headers: [], body: "", route: "probe" };

/** What was learnt of a head, and what the area learns of it without our header. */
class LearntCaller {
  readonly caller: Caller | undefined;
  readonly memo: HeadMemo = { learnt: undefined };

  constructor(caller: Caller | undefined) {
    this.caller = caller;
  }
}

function callerOf(head: RequestHead): LearntCaller {
  const { memo } = head;
  if (memo?.learnt instanceof LearntCaller) return memo.learnt;
  const learnt = new LearntCaller(readForwarded(head.header(FORWARDED)));
  if (memo !== undefined) memo.learnt = learnt;
  return learnt;
}

/** What the area sees instead of the request of the node. keeps (3) */
function changed({ address, port }: Caller, memo: HeadMemo | undefined) {
  return { headersOf: withoutForwarded, memo, remoteAddress: address, remotePort: port };
}

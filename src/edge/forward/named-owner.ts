/**
 * Names the node that answers, so that a load balancer can send the next request of a client straight to it. The name is
 * opaque, because clients need not know the machines of a cluster.
 */
import type { HttpReply, HttpService, HttpStream } from "../handler.ts";
import { refusalOf } from "../respond.ts";

const OWNER = "Larder-Owner";

/** The area, each of whose answers has this name. Without one: the area as it is. */
export function namedOwner(area: HttpService, name: string | undefined): HttpService {
  if (name === undefined) return area;
  const named = <Reply extends HttpReply | HttpStream>(reply: Reply): Reply => ({
    ...reply,
    headers: [...reply.headers, OWNER, name],
  });
  return {
    handle(request) {
      const reply = area.handle(request);
      return reply instanceof Promise ? reply.then(named) : named(reply);
    },
    bodyBytesMax: (target) => area.bodyBytesMax(target),
    refuseEarly(head) {
      const refusal = area.refuseEarly?.(head);
      return refusal && named(refusal);
    },
    refusal: (failure, target) => refusalOf(area, failure, target),
  };
}

/** Names the node that answers: the answers of a cluster say who serves the area. */
import type { HttpReply, HttpService, HttpStream } from "../handler.ts";
import { refusalOf } from "../respond.ts";

const OWNER = "Larder-Owner";

/** The area, each of whose answers names this node. */
export function namedOwner(area: HttpService, node: string): HttpService {
  const named = <Reply extends HttpReply | HttpStream>(reply: Reply): Reply => ({
    ...reply,
    headers: [...reply.headers, OWNER, node],
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

/** Requests of areas whose routes are whole units of work: each runs in a turn of its tenant. */
import type { Tenant } from "../../kernel/turns.ts";
import type { HttpReply, HttpRequest } from "../handler.ts";
import { abandonedReply } from "../respond.ts";

export interface InTurn {
  readonly request: HttpRequest;
  readonly tenant: Tenant;
  /** The name of the route. Its expected time is that of its recent requests. */
  readonly route: string;
  /** Answers the request; called once. If the request has waited, its token may have been removed meanwhile. */
  readonly run: (hasWaited: boolean) => HttpReply | Promise<HttpReply>;
}

/** Answers at once, unless another tenant is first. */
export function inTurn({ request, tenant, route, run }: InTurn): HttpReply | Promise<HttpReply> {
  request.payer = tenant;
  const isHeavy = tenant.isHeavy(route);
  if (!isHeavy && tenant.mayRun) {
    tenant.begin(route, route);
    return run(false);
  }
  return lateTurn(request, tenant.next({ isHeavy }), () => {
    tenant.begin(route, route);
    return run(true);
  });
}

/** Runs a request in its turn, unless its peer has disconnected. */
export function lateTurn<Reply>(
  request: HttpRequest,
  turn: Promise<void>,
  run: () => Reply | Promise<Reply>,
): Promise<Reply | HttpReply> {
  request.waitsForTurn?.();
  return turn.then(() => {
    try {
      return request.isAbandoned === true ? abandonedReply : run();
    } finally {
      request.hadTurn?.();
    }
  });
}

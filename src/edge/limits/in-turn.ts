/** Requests of areas whose routes are whole units of work: each runs when its tenant may have the thread. */
import type { Tenant } from "../../kernel/turns.ts";
import type { HttpReply, HttpRequest } from "../handler.ts";
import { abandonedReply } from "../respond.ts";

export interface InTurn {
  readonly request: HttpRequest;
  readonly tenant: Tenant;
  /** The name of the route: what it took lately is what it is expected to take. */
  readonly route: string;
  /** Answers; asked once. If the request has waited, its token may have been removed meanwhile. */
  readonly run: (hasWaited: boolean) => HttpReply | Promise<HttpReply>;
}

/** Answers at once, if nobody else comes first. */
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

/** Runs a request when its turn has come; not if its peer has gone. */
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

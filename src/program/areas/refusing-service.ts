/** The answers of an area that does not serve. */
import type { RequestFailure } from "../../edge/errors.ts";
import type { HttpReply, HttpService } from "../../edge/handler.ts";
import { refusalOf } from "../../edge/respond.ts";

/** Refuses every request until the service answers, in the form of the area's other failures. */
export function refusingService(
  failure: RequestFailure,
  requestBytesMax: number,
  http: Pick<HttpService, "refusal">,
): HttpService {
  const worded = (each: RequestFailure, target: string): HttpReply => refusalOf(http, each, target);
  const refusal = { ...worded(failure, ""), route: "starting" };
  return {
    handle: () => refusal,
    bodyBytesMax: () => requestBytesMax,
    refuseEarly: () => refusal,
    refusal: worded,
  };
}

/** An area that this version does not have yet: every request gets 503 and a clear text. */
import { areaNotBuilt } from "./errors.ts";
import type { Area } from "./handler.ts";
import { failureReply } from "./respond.ts";

/** Bodies are read and dropped, so that a client gets the answer instead of a closed connection. */
const BODY_BYTES_MAX = 1024 * 1024;

/** `name` as in the text: `the vector index`. */
export function placeholderArea(name: string): Area {
  const refusal = { ...failureReply(areaNotBuilt(name)), route: "unavailable" };
  return {
    handle: () => refusal,
    bodyBytesMax: () => BODY_BYTES_MAX,
    refuseEarly: () => refusal,
  };
}

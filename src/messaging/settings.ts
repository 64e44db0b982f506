/**
 * The exports of messaging that start-up and the command line use without an
 * engine. A second entry beside mod.ts, which loads very little.
 */
export { newSigningKey } from "./delivery/signature.ts";
export { defaultLimits, type MessagingLimits, RESPONSE_BYTES_MAX } from "./limits.ts";

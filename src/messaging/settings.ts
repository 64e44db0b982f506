/**
 * What start-up and the command line need of messaging before there is an
 * engine, or without one. An entry beside mod.ts that loads next to nothing.
 */
export { newSigningKey } from "./delivery/signature.ts";
export { defaultLimits, type MessagingLimits, RESPONSE_BYTES_MAX } from "./limits.ts";

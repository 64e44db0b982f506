/**
 * The face of replies: what the encoders of the edge print. It is apart from
 * that of the store because threads that serve no store print errors too, and
 * need not load an engine for that.
 */
export { CommandError, replyTooLarge, wrongArity } from "../errors.ts";
export { formatDouble } from "../structures/numbers/number-text.ts";
export { errorReply, findError, pairsOf, type Reply } from "./reply.ts";

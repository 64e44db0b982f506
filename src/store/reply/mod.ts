/**
 * The public interface of replies, which the encoders of the edge print. It is
 * separate from that of the store because threads without a store print errors
 * too, and need not load an engine for that.
 */
export { CommandError, replyTooLarge, wrongArity } from "../errors.ts";
export { formatDouble } from "../structures/numbers/number-text.ts";
export type { ReplyPrinter } from "./printer.ts";
export { errorReply, findError, ok, pairsOf, type Reply } from "./reply.ts";

/** How a caller prints the replies of a database, as part of the unit of work that made them. */
import type { Reply } from "./reply.ts";

export interface ReplyPrinter<Printed> {
  /** Longer replies do not fit. */
  readonly bytesMax: number;
  /**
   * Prints the reply of a command that has changed nothing, or that can be undone.
   *
   * @throws {CommandError} if the reply cannot be sent, for example because it is too long.
   */
  print(reply: Reply): Printed;
  /** Prints an error, or the reply of a command that has changed something. It fits, and must be sent. */
  printDone(reply: Reply): Printed;
}

/** Leaves replies as they are. */
export const asTheyAre: ReplyPrinter<Reply> = {
  bytesMax: Number.POSITIVE_INFINITY,
  print: (reply) => reply,
  printDone: (reply) => reply,
};

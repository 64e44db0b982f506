/** Commands over TCP before login: a few are allowed; for all others the refusal does not reveal whether they exist. */

import type { CommandRequest } from "../command-facts.ts";
import { CommandError, noAuthentication, wrongArity } from "../errors.ts";
import { errorReply, later, type Reply } from "../reply/reply.ts";
import type { Session } from "../session/session.ts";
import { findCommand } from "./table.ts";

export function answerBeforeLogin(session: Session, words: CommandRequest): Reply {
  const command = findCommand(words[0] ?? "");
  const { runInSession } = command ?? {};
  if (command === undefined || !command.isAvailableBeforeLogin || runInSession === undefined)
    return errorReply(noAuthentication);
  const { arity } = command;
  if (arity >= 0 ? words.length !== arity : words.length < -arity) return errorReply(wrongArity(command.fullName));
  try {
    const reply = runInSession(session, words);
    return reply === undefined ? later : reply;
  } catch (error) {
    if (error instanceof CommandError) return errorReply(error);
    throw error;
  }
}

/** Refusals of commands, and what ACL LOG has of a failed login and of a missing right: the client of a session, or of a request. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { AclContext, AclLog } from "../acl/acl-log.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { CommandError, Denied } from "../errors.ts";
import type { Caller } from "./caller.ts";
import { clientLine, requestLine } from "./client-line.ts";
import type { Session } from "./session.ts";

export interface DenialPlace {
  readonly context: AclContext;
  readonly command: CommandFacts | undefined;
}

/** A wrong password, or a disabled user. */
export function logFailedLogin(
  log: AclLog,
  username: Bytes,
  at: { session: Session | undefined; nowMs: number },
): void {
  const { session, nowMs } = at;
  const denied = { reason: "auth", context: "toplevel", object: "AUTH" } as const;
  log.add({ ...denied, username, client: session === undefined ? "" : clientLine(session, nowMs) }, nowMs);
}

export function logDenial(
  log: AclLog,
  denied: Denied,
  at: DenialPlace & { readonly caller: Caller; readonly nowMs: number },
): void {
  const { caller, context, command, nowMs } = at;
  const { user, session } = caller;
  // The last command of the session is the script or EXEC, not a command inside it.
  if (session !== undefined && context !== "lua" && !session.isExecuting) session.lastCommand = command;
  const client = session === undefined ? requestLine(caller, command) : clientLine(session, nowMs);
  log.add({ ...denied, context, username: user.name, client }, nowMs);
}

/** The refusal of a command. A refused EXEC discards its transaction. */
export function refusalOf({ session }: Caller, { runsQueue }: CommandFacts, refusal: CommandError): CommandError {
  return runsQueue && session !== undefined ? session.refuseToExecute(refusal) : refusal;
}

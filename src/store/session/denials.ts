/** Refusals of commands, and what ACL LOG has of a failed login and of a missing right: the client of a session, or of a request. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { AclContext, AclLog } from "../acl/acl-log.ts";
import type { CommandFacts } from "../command-facts.ts";
import { type CommandError, type Denied, notAvailable, unknownSubcommand, wrongArity } from "../errors.ts";
import type { CommandCounts } from "../observe/command-counts.ts";
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

/** The database, as far as refusals are counted there. */
export interface RefusalHost {
  /** Calls of commands and subcommands that do not exist, since the start. */
  unknownCount: number;
  countsOf(command: CommandFacts): CommandCounts;
  noteDenial(caller: Caller, denial: CommandError, place: DenialPlace): void;
}

// Functions of their own: V8 copies only short functions into their callers, and the search for a command is one of these.

/** The refusal of a name: no command has it (undefined), or none that the caller may know. */
export function refuseName(host: RefusalHost, name: Bytes, command: CommandFacts | undefined): CommandError {
  if (command === undefined) host.unknownCount += 1;
  else host.countsOf(command).rejected += 1;
  return notAvailable(name);
}

export function refuseSubcommand(host: RefusalHost, container: CommandFacts, name: Bytes): CommandError {
  host.unknownCount += 1;
  return unknownSubcommand(container.name, name);
}

/** The refusal of a number of words. */
export function refuseArity(host: RefusalHost, caller: Caller, command: CommandFacts): CommandError {
  host.countsOf(command).rejected += 1;
  return refusalOf(caller, command, wrongArity(command.fullName));
}

/** The refusal of a command that the caller may not run. */
export function refuseRight(
  host: RefusalHost,
  denial: CommandError,
  at: { readonly caller: Caller; readonly command: CommandFacts; readonly context: AclContext },
): CommandError {
  const { caller, command } = at;
  host.countsOf(command).rejected += 1;
  host.noteDenial(caller, denial, at);
  return refusalOf(caller, command, denial);
}

/** The refusal of a command. A refused EXEC discards its transaction. */
function refusalOf({ session }: Caller, { runsQueue }: CommandFacts, refusal: CommandError): CommandError {
  return runsQueue && session !== undefined ? session.refuseToExecute(refusal) : refusal;
}

/**
 * What a request to an area does, from its path and the beginning of its body: for
 * the audit log, and for the rule that a change needs the CSRF token with any
 * method. The rows of the area's own tables say it.
 *
 * (1) A name has only words of the tables, so no text of users and no token, such
 *     as the URL of a destination has, gets into the audit log.
 * (2) Anything that the tables do not call a read counts as a change.
 */
import { bytesFromText } from "../../../kernel/bytes.ts";
import { type CommandFacts, findCommand } from "../../../store/mod.ts";
import { RequestFailure } from "../../errors.ts";
import { MessagingRoutes } from "../../messaging/route.ts";
import { messagingRoutes } from "../../messaging/routes/table.ts";
import { segmentOf, storeRoutes } from "../../store/routes.ts";
import { splitVectorPath } from "../../vector/path.ts";
import { vectorRoutes } from "../../vector/routes.ts";

export type ConsoleArea = "store" | "vector" | "messaging";

export interface AreaCall {
  readonly method: string;
  /** Below the area, with a slash at the beginning and without the query. */
  readonly path: string;
  readonly body: Buffer;
}

export interface CallFacts {
  /** Such as `POST /v2/dlq/:dlqId`, `SET` or `upsert`. keeps (1) */
  readonly name: string;
  readonly isRead: boolean;
}

/** keeps (2) */
export const factsOfCall: Readonly<Record<ConsoleArea, (call: AreaCall) => CallFacts>> = {
  store: storeFacts,
  vector: vectorFacts,
  messaging: messagingFacts,
};

const ruleOf = new MessagingRoutes(messagingRoutes);

function messagingFacts({ method, path }: AreaCall): CallFacts {
  try {
    const { route } = ruleOf.find(method, path);
    return { name: `${method} ${route.template}`, isRead: route.method === "GET" };
  } catch (failure) {
    if (failure instanceof RequestFailure) return { name: "unknown path", isRead: false };
    throw failure;
  }
}

const vectorRouteByCommand = new Map<string, (typeof vectorRoutes)[number]>(
  vectorRoutes.map((route) => [route.command, route]),
);

function vectorFacts({ path }: AreaCall): CallFacts {
  const found = splitVectorPath(path, (segment) => vectorRouteByCommand.has(segment));
  const route = found && vectorRouteByCommand.get(found.command);
  return { name: route?.command ?? "unknown path", isRead: route?.access === "read" };
}

/** First segments of the routes that are not commands. */
const storeSegments = new Map(storeRoutes.map((route) => [segmentOf(route), route.id]));
const streamIds: readonly string[] = ["monitor", "subscribe", "subscribeToPatterns"];
const batchIds: readonly string[] = ["runPipeline", "runTransaction"];

function storeFacts({ path, body }: AreaCall): CallFacts {
  const [segment = "", second = ""] = path.slice(1).split("/", 2).map(decoded);
  const id = segment === "" ? undefined : storeSegments.get(segment);
  if (id !== undefined && streamIds.includes(id)) return { name: segment, isRead: true };
  if (id !== undefined && batchIds.includes(id)) return batchFacts(segment, body);
  const [name = "", subcommand = ""] = segment === "" ? firstWords(FIRST_WORDS, body) : [segment, second];
  return commandFacts(name, subcommand);
}

/** The names of so many commands of a batch are shown. */
const SHOWN_COMMANDS_MAX = 5;
/** A longer batch is a change, and its commands are not shown. */
const BATCH_BYTES_MAX = 65_536;

function batchFacts(segment: string, body: Buffer): CallFacts {
  if (body.length > BATCH_BYTES_MAX) return { name: segment, isRead: false };
  const all = Array.from(body.latin1Slice().matchAll(WORDS_IN_BATCH), ([, name = "", subcommand = ""]) =>
    commandFacts(name, subcommand),
  );
  const names = [...new Set(all.map(({ name }) => name))];
  const shown = names.slice(0, SHOWN_COMMANDS_MAX).join(", ") + (names.length > SHOWN_COMMANDS_MAX ? ", …" : "");
  return { name: `${segment} ${shown}`.trimEnd(), isRead: false };
}

/** The first two words of a command, if they are strings without an escape. */
const FIRST_WORDS = /^\s*\[\s*"([\w.]{1,40})"\s*(?:,\s*"([\w.-]{1,40})")?/;
/** The same for the commands of a batch. A value may look like one; the names are still names of commands. */
const WORDS_IN_BATCH = /\[\s*"([\w.]{1,40})"\s*(?:,\s*"([\w.-]{1,40})")?/g;

function firstWords(pattern: RegExp, body: Buffer): readonly string[] {
  return pattern.exec(body.subarray(0, 200).latin1Slice())?.slice(1) ?? [];
}

/** Subcommands of administrative commands that only report something. */
const reportingSubcommands: ReadonlySet<string> = new Set(
  "GET LIST INFO LEN HELP LOG CAT WHOAMI USERS GETUSER DRYRUN ID COUNT DOCS STATS DUMP EXISTS USAGE DOCTOR".split(" "),
);

function commandFacts(name: string, subcommand: string): CallFacts {
  const command: CommandFacts | undefined = findCommand(bytesFromText(name));
  if (command === undefined) return { name: "unknown command", isRead: false };
  const child = command.subcommandByName?.get(subcommand.toUpperCase());
  const facts = child ?? command;
  const isReport = child !== undefined && !child.mayChange && reportingSubcommands.has(child.name);
  const isRead = facts.flags.includes("readonly") || facts.isForReadOnlyToken || isReport;
  return { name: facts.fullName.toUpperCase().replace("|", " "), isRead };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}

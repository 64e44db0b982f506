/**
 * CLIENT: what a session reports about itself, and what it can learn about and
 * do to other sessions of its database. Sessions of other databases are hidden.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import { noKeys, type Row } from "../command.ts";
import {
  clientIdInvalid,
  clientIdNotPositive,
  clientNameInvalid,
  libraryFactInvalid,
  libraryFactUnknown,
  noSuchClient,
  notImporting,
  notInteger,
  pauseKindUnknown,
  syntaxError,
  timeoutNegative,
  timeoutNotInteger,
  unblocked,
  unblockReasonUnknown,
} from "../errors.ts";
import { bulk, errorReply, nilArray, ok, type Reply, verbatim } from "../reply/reply.ts";
import { clientLine } from "../session/client-line.ts";
import type { SessionHost } from "../session/host.ts";
import type { Session } from "../session/session.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { type ClientFilters, readClientFilters } from "./client-filters.ts";
import { cachingHelpLines, redirectHelpLines, trackingHelpLines, trackingRows } from "./client-tracking.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  ...cachingHelpLines,
  "CAPA <capability> [...]",
  "    Announce what the client can do. REDIRECT has no effect: there are no replicas.",
  "GETNAME",
  "    Return the name of this connection.",
  ...redirectHelpLines,
  "ID",
  "    Return the id of this connection.",
  "IMPORT-SOURCE (ON|OFF)",
  "    ON is refused: there is no import mode.",
  "INFO",
  "    Return information about this connection.",
  "KILL <ip:port>",
  "    Close the connection from this address.",
  "KILL <filter> <value> [<filter> <value> [...]]",
  "    Close the connections that pass all filters: ID <client-id> [...], TYPE (NORMAL|MASTER|REPLICA|PUBSUB),",
  "    ADDR <ip:port>, LADDR <ip:port>, IP <ip>, USER <username>, NAME <name>, LIB-NAME <name>, LIB-VER <version>,",
  "    FLAGS <letters>, CAPA <letters>, DB <number>. NOT- before a name reverses the filter.",
  "    MAXAGE <seconds> and IDLE <seconds> pass connections of at least that age. SKIPME NO includes this connection.",
  "LIST [<filter> <value> [...]]",
  "    Return information about the connections to this database, or those that pass the filters of KILL.",
  "NO-EVICT (ON|OFF)",
  "    Changes only the output of CLIENT LIST: no connection is closed because of its memory.",
  "NO-TOUCH (ON|OFF)",
  "    With ON, commands of this connection do not update the time of last use of keys.",
  "PAUSE <timeout> [WRITE|ALL]",
  "    Hold up commands over TCP to this database for <timeout> milliseconds: all, or those that may write.",
  "REPLY (ON|OFF|SKIP)",
  "    Turn replies on or off, or skip the next one.",
  "SETINFO (LIB-NAME|LIB-VER) <value>",
  "    Set the name or the version of the client library.",
  "SETNAME <name>",
  "    Set the name of this connection.",
  ...trackingHelpLines,
  "UNBLOCK <client-id> [TIMEOUT|ERROR]",
  "    Unblock a blocked connection, as if its timeout had passed, or with an error.",
  "UNPAUSE",
  "    End the pause.",
];

/** About the connection itself: allowed for all users. */
const own: Pick<Row, "flags" | "categories" | "keys" | "run"> = {
  flags: ["noscript", "loading", "stale", "public", "tcp-only"],
  categories: ["connection"],
  keys: noKeys,
  run: () => ok,
};

/** About other connections. */
const others: typeof own = { ...own, flags: ["admin", "noscript", "loading", "stale", "tcp-only"] };

const tracking = trackingRows(own);

export const clientRow: Row = {
  name: "CLIENT",
  summary: "Commands for connections",
  arity: -2,
  flags: ["tcp-only"],
  categories: [],
  keys: noKeys,
  keepsCaching: true,
  subcommands: [
    tracking.caching,
    {
      ...own,
      name: "CAPA",
      summary: "Announces capabilities of the client; redirect is known, and has no effect without replicas",
      arity: -3,
      runInSession: (session, words) => {
        // As in Valkey, unknown capabilities are ignored.
        if (words.slice(2).some((word) => upperCase(word) === "REDIRECT")) session.followsRedirects = true;
        return ok;
      },
    },
    {
      ...own,
      name: "GETNAME",
      summary: "Returns the name of this connection",
      arity: 2,
      runInSession: ({ name }) => bulk(name === "" ? undefined : name),
    },
    tracking.getRedirect,
    helpRow(helpLines, { ...own, flags: ["loading", "stale", "public", "tcp-only"] }),
    { ...own, name: "ID", summary: "Returns the id of this connection", arity: 2, runInSession: ({ id }) => id },
    {
      ...own,
      name: "IMPORT-SOURCE",
      summary: "ON is refused: there is no import mode",
      arity: 3,
      runInSession: (_session, words) => {
        if (readSwitch(words)) throw notImporting;
        return ok;
      },
    },
    {
      ...own,
      name: "INFO",
      summary: "Returns information about this connection",
      arity: 2,
      runInSession: (session) => verbatim(linesOf([session], session.database)),
    },
    { ...others, name: "KILL", summary: "Closes connections", arity: -3, runInSession: kill },
    { ...others, name: "LIST", summary: "Lists the connections to this database", arity: -2, runInSession: list },
    {
      ...others,
      name: "NO-EVICT",
      summary: "Changes nothing: no connection is closed because of its memory",
      arity: 3,
      runInSession: (session, words) => {
        session.isExemptFromEviction = readSwitch(words);
        return ok;
      },
    },
    {
      ...own,
      name: "NO-TOUCH",
      summary: "Sets whether commands of this connection update the time of last use of keys",
      arity: 3,
      runInSession: (session, words) => {
        session.setLeavesKeysUntouched(readSwitch(words));
        return ok;
      },
    },
    { ...others, name: "PAUSE", summary: "Holds up commands over TCP for some time", arity: -3, runInSession: pause },
    {
      ...own,
      name: "REPLY",
      summary: "Turns replies on or off",
      arity: 3,
      flags: [...own.flags, "no-transaction"],
      runInSession: reply,
    },
    {
      ...own,
      name: "SETINFO",
      summary: "Sets the name or the version of the client library",
      arity: 4,
      runInSession: setInfo,
    },
    {
      ...own,
      name: "SETNAME",
      summary: "Sets the name of this connection",
      arity: 3,
      runInSession: (session, words) => {
        const name = words[2] as Bytes;
        checkClientName(name);
        session.name = name;
        return ok;
      },
    },
    tracking.tracking,
    tracking.trackingInfo,
    { ...others, name: "UNBLOCK", summary: "Unblocks a blocked connection", arity: -3, runInSession: unblock },
    {
      ...others,
      name: "UNPAUSE",
      summary: "Ends the pause",
      arity: 2,
      runInSession: ({ database }) => {
        database.sessions.unpause();
        return ok;
      },
    },
  ],
  run: () => nilArray,
};

/** Spaces end a name in a line of CLIENT LIST. @throws {CommandError} */
export function checkClientName(name: Bytes): void {
  if (!PRINTED.test(name)) throw clientNameInvalid;
}

const PRINTED = /^[!-~]*$/;

function linesOf(sessions: Iterable<Session>, database: SessionHost): Bytes {
  return Array.from(sessions, (session) => `${clientLine(session, database.keyspace.nowMs)}\n`).join("");
}

/** Reads the third word. */
function readSwitch(words: readonly Bytes[]): boolean {
  const word = upperCase(words[2] as Bytes);
  if (word !== "ON" && word !== "OFF") throw syntaxError;
  return word === "ON";
}

function list(session: Session, words: readonly Bytes[]): Reply {
  const { database } = session;
  const filters = readClientFilters(words, { database, idInvalid: clientIdInvalid, idMin: Number.NEGATIVE_INFINITY });
  const found = selected(session, filters, { skipsMe: false });
  return verbatim(linesOf(found, database));
}

/** The old form names an address; the new one has filters, and the closed sessions pass all of them. */
function kill(session: Session, words: readonly Bytes[]): Reply {
  const isOldForm = words.length === 3;
  const { database } = session;
  const found = isOldForm
    ? [...database.sessions.all()].filter(({ address }) => address === words[2])
    : selected(session, readClientFilters(words, { database, idInvalid: clientIdNotPositive, idMin: 1 }), {
        skipsMe: true,
      });
  if (isOldForm && found.length === 0) throw noSuchClient;
  for (const one of found) {
    // A session that closes itself still gets the reply.
    if (one === session) one.end();
    else one.kill();
  }
  return isOldForm ? ok : found.length;
}

/** The sessions of the database that pass the filters. */
function selected(
  caller: Session,
  filters: ClientFilters,
  { skipsMe }: { readonly skipsMe: boolean },
): readonly Session[] {
  const { sessions } = caller.database;
  const candidates =
    filters.ids === undefined ? [...sessions.all()] : filters.ids.flatMap((id) => sessions.find(id) ?? []);
  const isSkipped = filters.skipsMe ?? skipsMe;
  return candidates.filter((one) => !(one === caller && isSkipped) && filters.passes(one));
}

/** No reply unless replies are turned on. */
function reply(session: Session, words: readonly Bytes[]): Reply | undefined {
  switch (upperCase(words[2] as Bytes)) {
    case "ON":
      session.setReplyMode("on");
      return ok;
    case "OFF":
      session.setReplyMode("off");
      return undefined;
    case "SKIP":
      session.setReplyMode("skip next");
      return undefined;
    default:
      throw syntaxError;
  }
}

function setInfo(session: Session, words: readonly Bytes[]): Reply {
  const [, , name = "", value = ""] = words;
  const option = upperCase(name);
  if (option !== "LIB-NAME" && option !== "LIB-VER") throw libraryFactUnknown(name);
  if (!PRINTED.test(value)) throw libraryFactInvalid(option.toLowerCase());
  if (option === "LIB-NAME") session.libraryName = value;
  else session.libraryVersion = value;
  return ok;
}

/** A longer pause ends after a year. */
const PAUSE_MS_MAX = 366 * 24 * 3_600_000;

function pause({ database }: Session, words: readonly Bytes[]): Reply {
  if (words.length > 4) throw syntaxError;
  const kind = words[3] === undefined ? "ALL" : upperCase(words[3]);
  if (kind !== "ALL" && kind !== "WRITE") throw pauseKindUnknown;
  const timeoutMs = parseInteger(words[2] as Bytes);
  if (timeoutMs === undefined) throw timeoutNotInteger;
  if (timeoutMs < 0) throw timeoutNegative;
  database.sessions.startPause(kind === "ALL" ? "all" : "write", Math.min(Number(timeoutMs), PAUSE_MS_MAX));
  return ok;
}

function unblock({ database }: Session, words: readonly Bytes[]): Reply {
  if (words.length > 4) throw syntaxError;
  const reason = words[3] === undefined ? "TIMEOUT" : upperCase(words[3]);
  if (reason !== "TIMEOUT" && reason !== "ERROR") throw unblockReasonUnknown;
  const id = parseInteger(words[2] as Bytes);
  if (id === undefined) throw notInteger;
  const session = database.sessions.find(Number(id));
  if (session === undefined) return 0;
  const isUnblocked =
    reason === "ERROR" ? database.waiters.end(session, errorReply(unblocked)) : database.waiters.timeOut(session);
  return isUnblocked ? 1 : 0;
}

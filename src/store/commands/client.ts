/**
 * CLIENT: what a session reports about itself, and what it can learn about and
 * do to other sessions of its database. Sessions of other databases are hidden.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import { noKeys, type Row } from "../command.ts";
import {
  cachingWithoutTracking,
  clientIdInvalid,
  clientIdNotPositive,
  clientNameInvalid,
  clientTypeUnknown,
  libraryFactInvalid,
  libraryFactUnknown,
  noSuchClient,
  noSuchUser,
  notInteger,
  pauseKindUnknown,
  syntaxError,
  timeoutNegative,
  timeoutNotInteger,
  trackingNotThere,
  unblocked,
  unblockReasonUnknown,
} from "../errors.ts";
import { bulk, emptyArray, errorReply, map, nilArray, ok, type Reply, set, verbatim } from "../reply/reply.ts";
import { clientLine } from "../session/client-line.ts";
import type { SessionHost } from "../session/host.ts";
import type { Session } from "../session/session.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "CACHING (YES|NO)",
  "    Refused: key tracking is not available.",
  "GETNAME",
  "    Return the name of this connection.",
  "GETREDIR",
  "    Return -1: key tracking is not available.",
  "ID",
  "    Return the id of this connection.",
  "INFO",
  "    Return information about this connection.",
  "KILL <ip:port>",
  "    Close the connection from this address.",
  "KILL <option> <value> [<option> <value> [...]]",
  "    Close the connections that match all options: ADDR (<ip:port>|<unixsocket>:0), LADDR, TYPE (NORMAL|MASTER|",
  "    REPLICA|PUBSUB), USER <username>, ID <client-id>. SKIPME NO includes this connection.",
  "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <client-id> [...]]",
  "    Return information about the connections to this database, or some of them.",
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
  "TRACKING (ON|OFF) [...]",
  "    ON is refused: key tracking is not available.",
  "TRACKINGINFO",
  "    Report that key tracking is off.",
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

export const clientRow: Row = {
  name: "CLIENT",
  summary: "Commands for connections",
  arity: -2,
  flags: ["tcp-only"],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      ...own,
      name: "CACHING",
      summary: "Refused: key tracking is not available",
      arity: 3,
      runInSession: () => {
        throw cachingWithoutTracking;
      },
    },
    {
      ...own,
      name: "GETNAME",
      summary: "Returns the name of this connection",
      arity: 2,
      runInSession: ({ name }) => bulk(name === "" ? undefined : name),
    },
    {
      ...own,
      name: "GETREDIR",
      summary: "Returns -1: key tracking is not available",
      arity: 2,
      runInSession: () => -1,
    },
    helpRow(helpLines, { ...own, flags: ["loading", "stale", "public", "tcp-only"] }),
    { ...own, name: "ID", summary: "Returns the id of this connection", arity: 2, runInSession: ({ id }) => id },
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
    {
      ...own,
      name: "TRACKING",
      summary: "ON is refused: key tracking is not available",
      arity: -3,
      runInSession: (_session, words) => {
        if (readSwitch(words)) throw trackingNotThere;
        return ok;
      },
    },
    {
      ...own,
      name: "TRACKINGINFO",
      summary: "Reports that key tracking is off",
      arity: 2,
      runInSession: () =>
        map([
          ["flags", set(["off"])],
          ["redirect", -1],
          ["prefixes", emptyArray],
        ]),
    },
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

/** No session is a replica or a master, but clients may ask for them. */
const types: ReadonlyMap<string, (session: Session) => boolean> = new Map([
  ["NORMAL", (session: Session) => session.listening.count === 0],
  ["PUBSUB", (session: Session) => session.listening.count > 0],
  ["MASTER", () => false],
  ["REPLICA", () => false],
  ["SLAVE", () => false],
]);

function readType(word: Bytes): (session: Session) => boolean {
  const isOfType = types.get(upperCase(word));
  if (isOfType === undefined) throw clientTypeUnknown(word);
  return isOfType;
}

function list({ database }: Session, words: readonly Bytes[]): Reply {
  const { sessions } = database;
  if (words.length === 2) return verbatim(linesOf(sessions.all(), database));
  const option = upperCase(words[2] as Bytes);
  if (option === "TYPE" && words.length === 4) {
    const isOfType = readType(words[3] as Bytes);
    return verbatim(linesOf([...sessions.all()].filter(isOfType), database));
  }
  if (option !== "ID" || words.length < 4) throw syntaxError;
  const wanted: Session[] = [];
  for (const word of words.slice(3)) {
    const id = parseInteger(word);
    if (id === undefined) throw clientIdInvalid;
    const session = sessions.find(Number(id));
    if (session !== undefined) wanted.push(session);
  }
  return verbatim(linesOf(wanted, database));
}

type Condition = (session: Session) => boolean;

/** The old form names an address; the new one has options, which a closed session matches all. */
function kill(session: Session, words: readonly Bytes[]): Reply {
  if (words.length === 3) {
    const count = killAll(session, { conditions: [({ address }) => address === words[2]], skipsMe: false });
    if (count === 0) throw noSuchClient;
    return ok;
  }
  const conditions: Condition[] = [];
  let skipsMe = true;
  for (let at = 2; at < words.length; at += 2) {
    const option = upperCase(words[at] as Bytes);
    const value = words[at + 1];
    if (value === undefined) throw syntaxError;
    if (option === "SKIPME") {
      const word = upperCase(value);
      if (word !== "YES" && word !== "NO") throw syntaxError;
      skipsMe = word === "YES";
      continue;
    }
    const condition = killConditions.get(option);
    if (condition === undefined) throw syntaxError;
    conditions.push(condition(value, session.database));
  }
  return killAll(session, { conditions, skipsMe });
}

const killConditions: ReadonlyMap<string, (value: Bytes, database: SessionHost) => Condition> = new Map<
  string,
  (value: Bytes, database: SessionHost) => Condition
>([
  [
    "ID",
    (value) => {
      const id = parseInteger(value);
      if (id === undefined || id < 1) throw clientIdNotPositive;
      return (session) => session.id === Number(id);
    },
  ],
  ["TYPE", (value) => readType(value)],
  ["ADDR", (value) => (session) => session.address === value],
  ["LADDR", (value) => (session) => session.peer.localAddress === value],
  [
    "USER",
    (value, database) => {
      if (!database.hasUser(value)) throw noSuchUser(value);
      return (session) => session.user.name === value;
    },
  ],
]);

function killAll(
  killer: Session,
  { conditions, skipsMe }: { conditions: readonly Condition[]; skipsMe: boolean },
): number {
  let count = 0;
  for (const session of [...killer.database.sessions.all()]) {
    if ((session === killer && skipsMe) || !conditions.every((holds) => holds(session))) continue;
    // A session that closes itself still gets the reply.
    if (session === killer) session.end();
    else session.kill();
    count += 1;
  }
  return count;
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

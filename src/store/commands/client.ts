/**
 * CLIENT: what a session says of itself, and what it can learn of the others of
 * its database and do to them. Nobody sees the sessions of another database.
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
  "    Refused: nobody's keys are tracked.",
  "GETNAME",
  "    The name of this connection.",
  "GETREDIR",
  "    -1: nobody's keys are tracked.",
  "ID",
  "    The number of this connection.",
  "INFO",
  "    Facts of this connection.",
  "KILL <ip:port>",
  "    Closes the connection from there.",
  "KILL <option> <value> [<option> <value> [...]]",
  "    Closes the connections for which all of these hold: ADDR (<ip:port>|<unixsocket>:0), LADDR, TYPE (NORMAL|MASTER|",
  "    REPLICA|PUBSUB), USER <username>, ID <client-id>; with SKIPME NO perhaps this one too.",
  "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <client-id> [...]]",
  "    Facts of the connections to this database, or of some of them.",
  "NO-EVICT (ON|OFF)",
  "    Changes nothing but what CLIENT LIST tells: no connection is closed for its memory.",
  "NO-TOUCH (ON|OFF)",
  "    Whether what this connection does with keys is no use of them.",
  "PAUSE <timeout> [WRITE|ALL]",
  "    Holds up the commands that come over TCP to this database for so many milliseconds, or those that may write.",
  "REPLY (ON|OFF|SKIP)",
  "    Whether there are replies.",
  "SETINFO (LIB-NAME|LIB-VER) <value>",
  "    Says which library is speaking.",
  "SETNAME <name>",
  "    Names this connection.",
  "TRACKING (ON|OFF) [...]",
  "    ON is refused: nobody's keys are tracked.",
  "TRACKINGINFO",
  "    That nobody's keys are tracked.",
  "UNBLOCK <client-id> [TIMEOUT|ERROR]",
  "    Ends the waiting of a connection, as if its time were over, or by an error.",
  "UNPAUSE",
  "    Ends the pause.",
];

/** About the connection itself: everybody may. */
const own: Pick<Row, "flags" | "categories" | "keys" | "run"> = {
  flags: ["noscript", "loading", "stale", "public", "tcp-only"],
  categories: ["connection"],
  keys: noKeys,
  run: () => ok,
};

/** About the connections of others. */
const others: typeof own = { ...own, flags: ["admin", "noscript", "loading", "stale", "tcp-only"] };

export const clientRow: Row = {
  name: "CLIENT",
  summary: "Commands on connections",
  arity: -2,
  flags: ["tcp-only"],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      ...own,
      name: "CACHING",
      summary: "Refused: nobody's keys are tracked",
      arity: 3,
      runInSession: () => {
        throw cachingWithoutTracking;
      },
    },
    {
      ...own,
      name: "GETNAME",
      summary: "The name of this connection",
      arity: 2,
      runInSession: ({ name }) => bulk(name === "" ? undefined : name),
    },
    { ...own, name: "GETREDIR", summary: "To whom invalidations go: to nobody", arity: 2, runInSession: () => -1 },
    helpRow(helpLines, { ...own, flags: ["loading", "stale", "public", "tcp-only"] }),
    { ...own, name: "ID", summary: "The number of this connection", arity: 2, runInSession: ({ id }) => id },
    {
      ...own,
      name: "INFO",
      summary: "Facts of this connection",
      arity: 2,
      runInSession: (session) => verbatim(linesOf([session], session.database)),
    },
    { ...others, name: "KILL", summary: "Closes connections", arity: -3, runInSession: kill },
    { ...others, name: "LIST", summary: "Facts of the connections to this database", arity: -2, runInSession: list },
    {
      ...others,
      name: "NO-EVICT",
      summary: "Changes nothing: no connection is closed for its memory",
      arity: 3,
      runInSession: (session, words) => {
        session.isExemptFromEviction = readSwitch(words);
        return ok;
      },
    },
    {
      ...own,
      name: "NO-TOUCH",
      summary: "Whether what this connection does with keys is no use of them",
      arity: 3,
      runInSession: (session, words) => {
        session.setLeavesKeysUntouched(readSwitch(words));
        return ok;
      },
    },
    { ...others, name: "PAUSE", summary: "Holds up the commands that come over TCP", arity: -3, runInSession: pause },
    {
      ...own,
      name: "REPLY",
      summary: "Whether there are replies",
      arity: 3,
      flags: [...own.flags, "no-transaction"],
      runInSession: reply,
    },
    { ...own, name: "SETINFO", summary: "Says which library is speaking", arity: 4, runInSession: setInfo },
    {
      ...own,
      name: "SETNAME",
      summary: "Names this connection",
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
      summary: "ON is refused: nobody's keys are tracked",
      arity: -3,
      runInSession: (_session, words) => {
        if (readSwitch(words)) throw trackingNotThere;
        return ok;
      },
    },
    {
      ...own,
      name: "TRACKINGINFO",
      summary: "That nobody's keys are tracked",
      arity: 2,
      runInSession: () =>
        map([
          ["flags", set(["off"])],
          ["redirect", -1],
          ["prefixes", emptyArray],
        ]),
    },
    { ...others, name: "UNBLOCK", summary: "Ends the waiting of a connection", arity: -3, runInSession: unblock },
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

/** A name stands between spaces in a line of CLIENT LIST. @throws {CommandError} */
export function checkClientName(name: Bytes): void {
  if (!PRINTED.test(name)) throw clientNameInvalid;
}

const PRINTED = /^[!-~]*$/;

function linesOf(sessions: Iterable<Session>, database: SessionHost): Bytes {
  return Array.from(sessions, (session) => `${clientLine(session, database.keyspace.nowMs)}\n`).join("");
}

/** Of the third word. */
function readSwitch(words: readonly Bytes[]): boolean {
  const word = upperCase(words[2] as Bytes);
  if (word !== "ON" && word !== "OFF") throw syntaxError;
  return word === "ON";
}

/** There are no replicas and no master, but it may be asked for them. */
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

/** The old form names an address; the new one has options, all of which hold for who is closed. */
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
    // Who closes itself still gets the answer.
    if (session === killer) session.end();
    else session.kill();
    count += 1;
  }
  return count;
}

/** What is not switched on says nothing. */
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

/** A longer one ends after a year. */
const PAUSE_MS_MAX = 366 * 24 * 3_600_000;

function pause({ database }: Session, words: readonly Bytes[]): Reply {
  if (words.length > 4) throw syntaxError;
  const kind = words[3] === undefined ? "ALL" : upperCase(words[3]);
  if (kind !== "ALL" && kind !== "WRITE") throw pauseKindUnknown;
  const timeoutMs = parseInteger(words[2] as Bytes);
  if (timeoutMs === undefined) throw timeoutNotInteger;
  if (timeoutMs < 0) throw timeoutNegative;
  database.sessions.pause(kind === "ALL" ? "all" : "write", Math.min(Number(timeoutMs), PAUSE_MS_MAX));
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

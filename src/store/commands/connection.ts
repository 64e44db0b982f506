/**
 * The connection family. HTTP has no connections, so only PING and ECHO are
 * available there; the others need a session.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import { family, noKeys, type Row } from "../command.ts";
import { REDACTED, REDIS_VERSION } from "../command-facts.ts";
import {
  databaseOutOfRange,
  helloNeedsLogin,
  helloOptionUnknown,
  noPasswordNeeded,
  notInteger,
  protocolNotInteger,
  protocolUnknown,
  syntaxError,
  wrongArity,
  wrongPassword,
} from "../errors.ts";
import { bulk, emptyArray, map, ok, pong, type Reply, simple } from "../reply/reply.ts";
import type { Session } from "../session/session.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { checkClientName, clientRow } from "./client.ts";

const greeting: Pick<Row, "flags" | "keys"> = {
  flags: ["noscript", "loading", "stale", "fast", "no_auth", "allow_busy", "public", "tcp-only"],
  keys: noKeys,
};

export const connectionCommands = family("connection", [
  {
    ...greeting,
    name: "AUTH",
    summary: "Logs in with a token, or as a user with a password",
    arity: -2,
    flags: [...greeting.flags, "no-transaction"],
    shownWords: (words) => words.map((word, index) => (index === 0 ? word : REDACTED)),
    run: () => ok,
    runInSession: auth,
  },
  clientRow,
  {
    name: "ECHO",
    summary: "Returns its argument",
    arity: 2,
    flags: ["loading", "stale", "fast", "public"],
    keys: noKeys,
    run: ({ arg }) => bulk(arg(1)),
  },
  {
    ...greeting,
    name: "HELLO",
    summary: "Sets the version of RESP, logs in and names the connection",
    arity: -1,
    flags: [...greeting.flags, "no-transaction"],
    shownWords: (words) => words.map((word, index) => (isSecretOfHello(words, index) ? REDACTED : word)),
    run: () => ok,
    runInSession: hello,
  },
  {
    name: "PING",
    summary: "Returns PONG, or its argument",
    arity: -1,
    flags: ["fast", "public", "before-login", "while-listening"],
    keys: noKeys,
    run: ({ arg, argCount }) => pingReply(argCount === 1 ? undefined : arg(1), argCount),
    runInSession: (session, words) => {
      const reply = pingReply(words[1], words.length);
      const isApart = session.respVersion === 2 && session.listening.count > 0;
      return isApart ? ["pong", words[1] ?? ""] : reply;
    },
  },
  {
    ...greeting,
    name: "QUIT",
    summary: "Closes the connection after the reply",
    arity: -1,
    flags: [...greeting.flags, "unqueued", "while-listening"],
    run: () => ok,
    runInSession: (session) => {
      session.end();
      return ok;
    },
  },
  {
    ...greeting,
    name: "RESET",
    summary: "Resets the connection to its initial state",
    arity: 1,
    flags: [...greeting.flags, "unqueued", "while-listening"],
    run: () => ok,
    runInSession: (session) => {
      session.reset();
      return simple("RESET");
    },
  },
  {
    name: "SELECT",
    summary: "Selects database 0, the only one of a token",
    arity: 2,
    flags: ["loading", "stale", "fast", "public", "tcp-only"],
    keys: noKeys,
    run: ({ arg }) => {
      const number = parseInteger(arg(1));
      if (number === undefined || number > INTEGER_MAX || number < -INTEGER_MAX - 1) throw notInteger;
      if (number !== 0) throw databaseOutOfRange;
      return ok;
    },
  },
]);

/** The largest 32-bit integer. */
const INTEGER_MAX = 2 ** 31 - 1;

function pingReply(message: Bytes | undefined, argCount: number): Reply {
  if (argCount > 2) throw wrongArity("PING");
  return message === undefined ? pong : bulk(message);
}

function auth(session: Session, words: readonly Bytes[]): Reply {
  if (words.length > 3) throw syntaxError;
  const [, first = "", second] = words;
  if (second !== undefined) logIn(session, { user: first, password: second });
  else if (!tryLogIn(session, { user: undefined, password: first }))
    throw session.login.anonymous === undefined ? wrongPassword : noPasswordNeeded;
  return ok;
}

interface Credentials {
  readonly user: Bytes | undefined;
  readonly password: Bytes;
}

function tryLogIn(session: Session, credentials: Credentials): boolean {
  const loggedIn = session.login.logIn(credentials, session);
  if (loggedIn === undefined) return false;
  session.enter(loggedIn);
  return true;
}

function logIn(session: Session, credentials: Credentials): void {
  if (!tryLogIn(session, credentials)) throw wrongPassword;
}

/** All arguments are checked before anything changes, except the login, as in Redis. */
function hello(session: Session, words: readonly Bytes[]): Reply {
  const version = words[1] === undefined ? undefined : readVersion(words[1]);
  let credentials: Credentials | undefined;
  let name: Bytes | undefined;
  for (let at = 2; at < words.length; at += 1) {
    const option = upperCase(words[at] as Bytes);
    const left = words.length - 1 - at;
    if (option === "AUTH" && left >= 2) {
      credentials = { user: words[at + 1], password: words[at + 2] as Bytes };
      at += 2;
    } else if (option === "SETNAME" && left >= 1) {
      name = words[at + 1] as Bytes;
      checkClientName(name);
      at += 1;
    } else throw helloOptionUnknown(words[at] as Bytes);
  }
  if (credentials !== undefined) logIn(session, credentials);
  if (!session.isAuthenticated) throw helloNeedsLogin;
  if (name !== undefined) session.name = name;
  if (version !== undefined) session.setRespVersion(version);
  return map([
    ["server", "redis"],
    ["version", REDIS_VERSION],
    ["proto", session.respVersion],
    ["id", session.id],
    ["mode", "standalone"],
    ["role", "master"],
    ["modules", emptyArray],
  ]);
}

function readVersion(word: Bytes): 2 | 3 {
  const version = parseInteger(word);
  if (version === undefined) throw protocolNotInteger;
  if (version !== 2 && version !== 3) throw protocolUnknown;
  return version;
}

/** True for the user and the password after AUTH. */
function isSecretOfHello(words: readonly Bytes[], index: number): boolean {
  for (let at = 2; at + 2 < words.length && at < index; at += 1) {
    const option = upperCase(words[at] as Bytes);
    if (option === "AUTH" && index <= at + 2) return true;
    if (option === "AUTH") at += 2;
    else if (option === "SETNAME") at += 1;
  }
  return false;
}

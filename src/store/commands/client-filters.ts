/**
 * The filters of CLIENT KILL and CLIENT LIST, which take the same ones: those of
 * Redis (MAXAGE since 7.4), and those of Valkey 9, most of which have an opposite
 * (`NOT-TYPE`).
 *
 * A session must pass all filters. Of a filter that is given twice the last one
 * counts, except that ID and NOT-ID collect the ids of all their occurrences.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import {
  type CommandError,
  clientFilterNotInteger,
  clientFilterNotPositive,
  clientFlagsUnknown,
  clientIdNotPositive,
  clientTypeUnknown,
  noSuchUser,
  syntaxError,
} from "../errors.ts";
import { flagsOf } from "../session/client-line.ts";
import type { SessionHost } from "../session/host.ts";
import type { Session } from "../session/session.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

type Condition = (session: Session) => boolean;

export interface ClientFilters {
  /** The ids in the order in which the command names them; undefined: any. */
  readonly ids: readonly number[] | undefined;
  /** Undefined: the command decides. */
  readonly skipsMe: boolean | undefined;
  passes(session: Session): boolean;
}

interface FilterForm {
  readonly hasOpposite: boolean;
  /** `filter` is the name as it is printed in errors. */
  read(value: Bytes, from: { readonly filter: string; readonly database: SessionHost }): Condition;
}

/** No session is a replica or a master, but clients may ask for them. */
const types: ReadonlyMap<string, Condition> = new Map([
  ["NORMAL", (session: Session) => session.listening.count === 0],
  ["PUBSUB", (session: Session) => session.listening.count > 0],
  ["MASTER", () => false],
  ["PRIMARY", () => false],
  ["REPLICA", () => false],
  ["SLAVE", () => false],
]);

/** All letters that CLIENT LIST may print in Redis and Valkey, for states that do not exist here too. */
const FLAGS = /^[AbBcdeEiIMNOPrRSutTUx]*$/;

/** The capabilities of CLIENT CAPA as a filter names them: `r` is `redirect`. */
const CAPABILITIES = /^r*$/;

function equals(textOf: (session: Session) => Bytes): FilterForm {
  return { hasOpposite: true, read: (value) => (session) => textOf(session) === value };
}

/** At least this many seconds. */
function atLeast(secondsOf: (session: Session, nowMs: number) => number): FilterForm {
  return {
    hasOpposite: false,
    read: (value, { filter, database }) => {
      const seconds = parseInteger(value);
      if (seconds === undefined) throw clientFilterNotInteger(filter.toLowerCase());
      if (seconds <= 0) throw clientFilterNotPositive(filter.toLowerCase());
      return (session) => secondsOf(session, database.keyspace.nowMs) >= Number(seconds);
    },
  };
}

const forms: ReadonlyMap<string, FilterForm> = new Map([
  [
    "TYPE",
    {
      hasOpposite: true,
      read: (value) => {
        const isOfType = types.get(upperCase(value));
        if (isOfType === undefined) throw clientTypeUnknown(value);
        return isOfType;
      },
    },
  ],
  ["ADDR", equals(({ address }) => address)],
  ["LADDR", equals(({ peer }) => peer.localAddress)],
  ["IP", equals(({ address }) => address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, ""))],
  ["NAME", equals(({ name }) => name)],
  ["LIB-NAME", equals(({ libraryName }) => libraryName)],
  ["LIB-VER", equals(({ libraryVersion }) => libraryVersion)],
  [
    "USER",
    {
      hasOpposite: true,
      read: (value, { database }) => {
        if (!database.hasUser(value)) throw noSuchUser(value);
        return (session) => session.user.name === value;
      },
    },
  ],
  [
    "FLAGS",
    {
      hasOpposite: true,
      read: (value, { filter }) => {
        if (!FLAGS.test(value)) throw clientFlagsUnknown("flags", { filter, value });
        return (session) => {
          const flags = flagsOf(session);
          return [...value].every((letter) => flags.includes(letter));
        };
      },
    },
  ],
  [
    "CAPA",
    {
      hasOpposite: true,
      read: (value, { filter }) => {
        if (!CAPABILITIES.test(value)) throw clientFlagsUnknown("capa", { filter, value });
        return (session) => value === "" || session.followsRedirects;
      },
    },
  ],
  [
    "DB",
    {
      hasOpposite: true,
      read: (value, { filter }) => {
        const number = parseInteger(value);
        if (number === undefined) throw clientFilterNotInteger(filter.toLowerCase());
        // A session is in the one database that its login selects.
        return () => number === 0;
      },
    },
  ],
  ["MAXAGE", atLeast(({ startedAtMs }, nowMs) => Math.floor((nowMs - startedAtMs) / 1_000))],
  ["IDLE", atLeast(({ lastUsedMs }, nowMs) => Math.floor((nowMs - lastUsedMs) / 1_000))],
]);

const OPPOSITE = "NOT-";

/**
 * Reads the filters from the third word on. `idInvalid` is thrown for an id that is not an integer, which Redis words
 * differently in KILL and LIST; `idMin` is the smallest id that may be named.
 */
export function readClientFilters(
  words: readonly Bytes[],
  from: { readonly database: SessionHost; readonly idInvalid: CommandError; readonly idMin: number },
): ClientFilters {
  const conditions = new Map<string, Condition>();
  let ids: number[] | undefined;
  const otherIds = new Set<number>();
  let skipsMe: boolean | undefined;
  let at = 2;
  while (at < words.length) {
    const filter = upperCase(words[at] as Bytes);
    const value = words[at + 1];
    if (value === undefined) throw syntaxError;
    if (filter === "ID" || filter === "NOT-ID") {
      const found = readIds(words, at + 1, from);
      at += 1 + found.length;
      // Added one by one: a command may have any number of them, each behind an ID of its own.
      if (filter === "ID") {
        ids ??= [];
        for (const id of found) ids.push(id);
      } else for (const id of found) otherIds.add(id);
      continue;
    }
    at += 2;
    if (filter === "SKIPME") {
      const word = upperCase(value);
      if (word !== "YES" && word !== "NO") throw syntaxError;
      skipsMe = word === "YES";
      continue;
    }
    const isOpposite = filter.startsWith(OPPOSITE);
    const form = forms.get(isOpposite ? filter.slice(OPPOSITE.length) : filter);
    if (form === undefined || (isOpposite && !form.hasOpposite)) throw syntaxError;
    const condition = form.read(value, { filter, database: from.database });
    conditions.set(filter, isOpposite ? (session) => !condition(session) : condition);
  }
  const all = [...conditions.values()];
  return {
    ids,
    skipsMe,
    passes: (session) => !otherIds.has(session.id) && all.every((holds) => holds(session)),
  };
}

/** At least one id, then as many as follow. */
function readIds(
  words: readonly Bytes[],
  start: number,
  { idInvalid, idMin }: { readonly idInvalid: CommandError; readonly idMin: number },
): number[] {
  const ids: number[] = [];
  for (let at = start; at < words.length; at += 1) {
    const id = parseInteger(words[at] as Bytes);
    if (id === undefined && ids.length > 0) break;
    if (id === undefined) throw idInvalid;
    if (id < idMin) throw clientIdNotPositive;
    ids.push(Number(id));
  }
  return ids;
}

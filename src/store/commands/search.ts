/**
 * Search indexes. An index is a key that other commands do not change; whatever
 * changes a key with one of its prefixes changes the index (search/upkeep/).
 *
 * Existence is looked up before a filter is read, so that a filter for a missing
 * index is no error. An index or an alias may be named wherever an index is
 * searched or described; the name of an index comes first.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type Call, family, firstKey, firstTwoKeys, noKeys } from "../command.ts";
import { noPermissionFor, syntaxError, wrongType } from "../errors.ts";
import { removeKey } from "../mutations/generic.ts";
import { putAlias, putDefinition, removeAlias } from "../mutations/state/search-indexes.ts";
import { events } from "../observe/keyspace-events.ts";
import { emptyArray, map, nilArray, one, type Reply, zero } from "../reply/reply.ts";
import type { IndexDefinition, SearchField } from "../search/definition.ts";
import { indexExists, tooManyAliases, tooManyIndexes, waitInUnit } from "../search/index-errors.ts";
import { created, looked, overwritten, read, removed } from "./command-keys.ts";
import { matcherOf } from "./scan.ts";
import { areAlike, checkLength, readCreation } from "./search-create.ts";
import { aggregateDocuments, countDocuments, queryDocuments } from "./search-query.ts";

const INDEXES_MAX = 100;
const ALIASES_MAX = 1_000;
/** The reply of SEARCH.ALIASADD to an alias that exists. */
const ALIAS_CHANGED = 2;

export const searchCommands = family("search", [
  {
    name: "SEARCH.AGGREGATE",
    summary: "Computes figures over the documents that match a filter",
    arity: 4,
    flags: ["readonly"],
    keys: firstKey,
    keyUses: [read],
    isQuick: false,
    waitsForIndex: "rebuilt",
    run: aggregateDocuments,
  },
  {
    name: "SEARCH.ALIASADD",
    summary: "Makes an alias name an index, which need not exist",
    arity: 3,
    flags: ["write", "denyoom"],
    keys: firstTwoKeys,
    keyUses: [overwritten, looked],
    takesIndexes: true,
    run: addAlias,
  },
  {
    name: "SEARCH.ALIASDEL",
    summary: "Removes an alias",
    arity: 2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [removed],
    takesIndexes: true,
    run: ({ keyspace, arg }) => {
      if (!keyspace.search.aliases.has(arg(1))) return zero;
      removeAlias(keyspace, arg(1));
      return one;
    },
  },
  {
    name: "SEARCH.COUNT",
    summary: "Returns how many documents match a filter",
    arity: 3,
    flags: ["readonly"],
    keys: firstKey,
    keyUses: [read],
    isQuick: false,
    waitsForIndex: "rebuilt",
    run: countDocuments,
  },
  {
    name: "SEARCH.CREATE",
    summary: "Creates an index over the keys with some prefixes",
    // A client tells a definition that is wrong by its syntax error.
    arity: -3,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [created],
    takesIndexes: true,
    run: create,
  },
  {
    name: "SEARCH.DESCRIBE",
    summary: "Returns the definition of an index, and its size",
    arity: 2,
    flags: ["readonly"],
    keys: firstKey,
    keyUses: [looked],
    run: describe,
  },
  {
    name: "SEARCH.DROP",
    summary: "Removes an index, and no document",
    arity: 2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [removed],
    takesIndexes: true,
    run: drop,
  },
  {
    name: "SEARCH.LISTALIASES",
    summary: "Returns all aliases with the names of their indexes",
    arity: 1,
    flags: ["readonly"],
    keys: noKeys,
    run: listAliases,
  },
  {
    name: "SEARCH.LISTINDEXES",
    summary: "Returns the names and data types of indexes",
    arity: -1,
    flags: ["readonly"],
    keys: noKeys,
    run: listIndexes,
  },
  {
    name: "SEARCH.QUERY",
    summary: "Returns the documents that match a filter, best first",
    arity: -3,
    flags: ["readonly"],
    keys: firstKey,
    keyUses: [read],
    isQuick: false,
    waitsForIndex: "rebuilt",
    run: queryDocuments,
  },
  {
    name: "SEARCH.REINDEX",
    summary: "Reads all documents of an index again",
    arity: 2,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [looked],
    takesIndexes: true,
    run: reindex,
  },
  {
    name: "SEARCH.WAITINDEXING",
    summary: "Returns when all documents of an index are indexed",
    arity: 2,
    flags: ["readonly"],
    keys: firstKey,
    keyUses: [looked],
    waitsForIndex: "scanned",
    run: waitIndexing,
  },
]);

function create(call: Call): Reply {
  const { keyspace, database, arg } = call;
  const name = arg(1);
  const { definition, skipsScan, existsOk } = readCreation(call);
  checkLength("index", name);
  const { user } = call.caller;
  if (!user.mayReadPrefixes(call.command, call.argsFrom(0), definition.prefixes)) throw noPermissionFor("key", name);
  const { definitions } = keyspace.search;
  const known = definitions.get(name);
  if (known !== undefined) {
    if (existsOk && areAlike(definition, known.definition)) return zero;
    throw indexExists(name);
  }
  if (keyspace.has(name)) throw wrongType;
  if (definitions.size >= INDEXES_MAX) throw tooManyIndexes(INDEXES_MAX);
  const value = putDefinition(keyspace, name, definition);
  database.search.begin(value, { scans: !skipsScan });
  return one;
}

function drop({ keyspace, arg }: Call): Reply {
  const name = arg(1);
  if (!keyspace.search.definitions.has(name)) return zero;
  removeKey(keyspace, name);
  keyspace.notify(events.del, name);
  return one;
}

function describe({ database, arg }: Call): Reply {
  const found = database.search.find(arg(1));
  if (found === undefined) return nilArray;
  const { name, live } = found;
  const { dataType, prefixes, language, fields } = live.value.definition;
  return map([
    ["name", name],
    ["type", dataType],
    ["prefixes", prefixes],
    ["language", language],
    ["indexSize", live.memoryBytes],
    ["pendingUpdates", live.pendingCount],
    ["schema", fields.map(describeField)],
  ]);
}

function describeField({ name, type, isTokenized, isStemmed, isFast, path }: SearchField): Reply {
  return [
    name,
    type,
    ...(isStemmed ? [] : ["NOSTEM"]),
    ...(isTokenized ? [] : ["NOTOKENIZE"]),
    ...(isFast ? ["FAST"] : []),
    ...(path === undefined ? [] : ["FROM", path]),
  ];
}

function reindex(call: Call): Reply {
  if (call.isPartOfUnit) throw waitInUnit;
  const found = call.database.search.find(call.arg(1));
  if (found === undefined) return zero;
  call.database.search.restart(found.live);
  return one;
}

function waitIndexing(call: Call): Reply {
  if (call.isPartOfUnit) throw waitInUnit;
  const found = call.database.search.find(call.arg(1));
  if (found === undefined) return zero;
  const { live } = found;
  return call.database.sliced.run(call, function* ({ spendBeside }) {
    yield* live.prepare(spendBeside);
    return one;
  });
}

function addAlias({ keyspace, arg }: Call): Reply {
  const alias = arg(1);
  const name = arg(2);
  checkLength("alias", alias);
  checkLength("index", name);
  const { aliases } = keyspace.search;
  const isNew = !aliases.has(alias);
  if (isNew && aliases.size >= ALIASES_MAX) throw tooManyAliases(ALIASES_MAX);
  putAlias(keyspace, alias, name);
  return isNew ? one : ALIAS_CHANGED;
}

function listAliases({ keyspace, caller }: Call): Reply {
  const pairs: Reply[] = [];
  for (const [alias, name] of sortedByName(keyspace.search.aliases))
    if (caller.user.mayKnow(alias)) pairs.push([alias, name]);
  return pairs.length === 0 ? emptyArray : pairs;
}

function listIndexes(call: Call): Reply {
  const { keyspace, arg, word, argCount, caller } = call;
  let pattern: Bytes | undefined;
  let limit = 0;
  let offset = 0;
  for (let at = 1; at < argCount; at += 2) {
    if (at + 1 === argCount) throw syntaxError;
    const option = word(at);
    if (option === "MATCH") pattern = arg(at + 1);
    else if (option === "LIMIT") limit = call.countFromZero(at + 1);
    else if (option === "OFFSET") offset = call.countFromZero(at + 1);
    else throw syntaxError;
  }
  const matches = matcherOf(pattern);
  const found = sortedByName(keyspace.search.definitions).filter(
    ([name]) => matches(name) && caller.user.mayKnow(name),
  );
  const end = limit === 0 ? found.length : offset + limit;
  return found.slice(offset, end).map(([name, { definition }]) => describeShortly(name, definition));
}

function describeShortly(name: Bytes, { dataType }: IndexDefinition): Reply {
  return map([
    ["name", name],
    ["type", dataType],
  ]);
}

/** By the bytes of the names. */
function sortedByName<V>(names: ReadonlyMap<Bytes, V>): [Bytes, V][] {
  return [...names].sort(([one], [other]) => (one < other ? -1 : 1));
}

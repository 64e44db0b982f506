/**
 * JSON commands. A key holds a document, and a path names parts of it: `$.a[0]`
 * returns all matches, the legacy syntax `.a[0]` one value (`json-target.ts`).
 * Without a path it is the root, in the legacy syntax.
 *
 * Changing a document preserves the expiry of its key, even JSON.SET of the root.
 * Lengths of strings are in bytes of UTF-8.
 */
import { type Call, family, firstKey, noKeys, secondKey } from "../command.ts";
import type { KeyPositions } from "../command-facts.ts";
import { pathMissing } from "../errors.ts";
import { nodeBytesOf } from "../json/node.ts";
import { StepBudget } from "../json/step-budget.ts";
import { emptyArray, nil, type Reply, zero } from "../reply/reply.ts";
import { overwritten, reduced, taken, updated } from "./command-keys.ts";
import { helpRow } from "./help.ts";
import { arrappend, arrindex, arrinsert, arrlen, arrpop, arrtrim } from "./json-array.ts";
import { clear, del, numincrby, nummultby, objkeys, objlen, strappend, strlen, toggle, type } from "./json-change.ts";
import { get, mget, resp } from "./json-get.ts";
import { merge, mset, set } from "./json-set.ts";
import { answerEach, findDocument, lastPathAt, matchesIn } from "./json-target.ts";

/** JSON.MGET: all but the last word. */
const allButLast: KeyPositions = { first: 1, last: -2, step: 1 };
/** JSON.MSET: key, path, value. */
const everyThird: KeyPositions = { first: 1, last: -1, step: 3 };

const debugHelp: readonly string[] = [
  "JSON.DEBUG <subcommand> [<arg> ...]. Subcommands are:",
  "MEMORY <key> [<path>]",
  "    Return the approximate size in bytes of the values at a path.",
];

export const jsonCommands = family("json", [
  {
    name: "JSON.ARRAPPEND",
    summary: "Appends values to arrays and returns their new lengths",
    arity: -4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: arrappend,
  },
  {
    name: "JSON.ARRINDEX",
    summary: "Returns the index of the first equal value in arrays, -1 if not found",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: arrindex,
  },
  {
    name: "JSON.ARRINSERT",
    summary: "Inserts values into arrays before an index",
    arity: -5,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: arrinsert,
  },
  {
    name: "JSON.ARRLEN",
    summary: "Returns the lengths of arrays",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: arrlen,
  },
  {
    name: "JSON.ARRPOP",
    summary: "Removes and returns an element of arrays, by default the last one",
    arity: -2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [taken],
    run: arrpop,
  },
  {
    name: "JSON.ARRTRIM",
    summary: "Trims arrays to the elements between two indexes, both included",
    arity: 5,
    flags: ["write"],
    keys: firstKey,
    keyUses: [updated],
    run: arrtrim,
  },
  {
    name: "JSON.CLEAR",
    summary: "Empties arrays and objects and sets numbers to 0",
    arity: -2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: clear,
  },
  {
    name: "JSON.DEBUG",
    summary: "Commands for debugging documents",
    arity: -2,
    flags: [],
    keys: noKeys,
    subcommands: [
      helpRow(debugHelp),
      {
        name: "MEMORY",
        summary: "Returns the approximate size in bytes of the values at a path",
        arity: -3,
        flags: ["readonly", "powerful"],
        keys: secondKey,
        run: memory,
      },
    ],
    run: () => nil,
  },
  {
    name: "JSON.DEL",
    summary: "Removes values and returns the number removed; the key goes with the root",
    arity: -2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: del,
  },
  {
    name: "JSON.FORGET",
    summary: "An alias of JSON.DEL",
    arity: -2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: del,
  },
  {
    name: "JSON.GET",
    summary: "Returns values as JSON text, optionally formatted",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: get,
  },
  {
    name: "JSON.MERGE",
    summary: "Merges a value into a document: members are added and replaced, null removes them",
    arity: 4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: merge,
  },
  {
    name: "JSON.MGET",
    summary: "Returns the values at a path in many documents, as JSON text",
    arity: -3,
    flags: ["readonly"],
    keys: allButLast,
    run: mget,
  },
  {
    name: "JSON.MSET",
    summary: "Sets values in many documents, all or none",
    arity: -4,
    flags: ["write", "denyoom"],
    keys: everyThird,
    keyUses: [overwritten],
    run: mset,
  },
  {
    name: "JSON.NUMINCRBY",
    summary: "Adds to numbers and returns the sums as JSON text, in RESP3 as numbers",
    arity: 4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    run: numincrby,
  },
  {
    name: "JSON.NUMMULTBY",
    summary: "Multiplies numbers and returns the products as JSON text, in RESP3 as numbers",
    arity: 4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    run: nummultby,
  },
  {
    name: "JSON.OBJKEYS",
    summary: "Returns the names of the members of objects",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: objkeys,
  },
  {
    name: "JSON.OBJLEN",
    summary: "Returns the numbers of members of objects",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: objlen,
  },
  {
    name: "JSON.RESP",
    summary: "Returns values as replies: arrays begin with [ and objects with {",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: resp,
  },
  {
    name: "JSON.SET",
    summary: "Stores a document, or sets values in one",
    arity: -4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [overwritten],
    run: set,
  },
  {
    name: "JSON.STRAPPEND",
    summary: "Appends to strings and returns their new lengths",
    arity: -3,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: strappend,
  },
  {
    name: "JSON.STRLEN",
    summary: "Returns the lengths of strings in bytes",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: strlen,
  },
  {
    name: "JSON.TOGGLE",
    summary: "Toggles booleans and returns their new values",
    arity: -2,
    flags: ["write", "denyoom"],
    keys: firstKey,
    run: toggle,
  },
  {
    name: "JSON.TYPE",
    summary: "Returns the types of values; integers differ from other numbers",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: type,
  },
]);

function memory(call: Call): Reply {
  const path = lastPathAt(call, 3);
  const document = findDocument(call, call.arg(2));
  if (document === undefined) return path.isLegacy ? zero : emptyArray;
  const missing = pathMissing(path.text);
  const budget = new StepBudget();
  return answerEach({
    path,
    matches: matchesIn(document, path),
    answer: (node) => {
      const bytes = nodeBytesOf(node);
      // A node is counted again for each matching node that contains it.
      budget.spend(bytes >>> 8);
      return bytes;
    },
    wrong: () => missing,
    missing,
  });
}

/**
 * JSON commands. A key holds a document, of which a path names parts: `$.a[0]`
 * answers all that it leads to, the old syntax `.a[0]` one value
 * (`json-target.ts`). Without a path it is the root, in the old syntax.
 *
 * Changing a document leaves the expiry of its key alone, also JSON.SET of the
 * whole. Lengths of strings are in bytes of UTF-8.
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
  "    About how many bytes the values at a path take.",
];

export const jsonCommands = family("json", [
  {
    name: "JSON.ARRAPPEND",
    summary: "Appends values to arrays and answers their new lengths",
    arity: -4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: arrappend,
  },
  {
    name: "JSON.ARRINDEX",
    summary: "Where in arrays a value is first found, -1 for nowhere",
    arity: -4,
    flags: ["readonly"],
    keys: firstKey,
    run: arrindex,
  },
  {
    name: "JSON.ARRINSERT",
    summary: "Inserts values into arrays in front of an index",
    arity: -5,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: arrinsert,
  },
  {
    name: "JSON.ARRLEN",
    summary: "Lengths of arrays",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: arrlen,
  },
  {
    name: "JSON.ARRPOP",
    summary: "Takes an element out of arrays, the last one unless an index is given",
    arity: -2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [taken],
    run: arrpop,
  },
  {
    name: "JSON.ARRTRIM",
    summary: "Keeps the elements of arrays from one index to another, both kept",
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
    summary: "Commands that tell how documents are kept",
    arity: -2,
    flags: [],
    keys: noKeys,
    subcommands: [
      helpRow(debugHelp),
      {
        name: "MEMORY",
        summary: "About how many bytes the values at a path take",
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
    summary: "Removes values and answers how many; the key goes with the root",
    arity: -2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: del,
  },
  {
    name: "JSON.FORGET",
    summary: "The same as JSON.DEL",
    arity: -2,
    flags: ["write"],
    keys: firstKey,
    keyUses: [reduced],
    run: del,
  },
  {
    name: "JSON.GET",
    summary: "Values as JSON text, laid out as asked",
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
    summary: "The values at a path in many documents, as JSON text",
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
    summary: "Adds to numbers and answers the sums as JSON text",
    arity: 4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    run: numincrby,
  },
  {
    name: "JSON.NUMMULTBY",
    summary: "Multiplies numbers and answers the products as JSON text",
    arity: 4,
    flags: ["write", "denyoom"],
    keys: firstKey,
    run: nummultby,
  },
  {
    name: "JSON.OBJKEYS",
    summary: "Names of the members of objects",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: objkeys,
  },
  {
    name: "JSON.OBJLEN",
    summary: "How many members objects have",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: objlen,
  },
  {
    name: "JSON.RESP",
    summary: "Values as replies: arrays begin with [ and objects with {",
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
    summary: "Appends to strings and answers their new lengths",
    arity: -3,
    flags: ["write", "denyoom"],
    keys: firstKey,
    keyUses: [updated],
    run: strappend,
  },
  {
    name: "JSON.STRLEN",
    summary: "Lengths of strings in bytes",
    arity: -2,
    flags: ["readonly"],
    keys: firstKey,
    run: strlen,
  },
  {
    name: "JSON.TOGGLE",
    summary: "Turns booleans around and answers what they are then",
    arity: -2,
    flags: ["write", "denyoom"],
    keys: firstKey,
    run: toggle,
  },
  {
    name: "JSON.TYPE",
    summary: "Types of values, integers told from other numbers",
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
      // A node is counted again with each one that is around it.
      budget.spend(bytes >>> 8);
      return bytes;
    },
    wrong: () => missing,
    missing,
  });
}

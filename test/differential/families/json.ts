/**
 * Random JSON commands. Redis without modules lacks them, so they are all
 * extensions: never sent to it, but they test the journal and snapshots.
 */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";

const NAMES: readonly Bytes[] = ["a", "b", "c", "n", "__proto__", "a b", "", "\xc3\xa9"];
const SCALARS: readonly Bytes[] = [
  ...[
    "null",
    "true",
    "false",
    '""',
    '"text"',
    '"\xc3\xa9"',
    '"\\u0001\\"\\\\"',
    '"a text that is longer than a slice"',
  ],
  ...["0", "1", "-1", "1.0", "-0", "2.5", "1e300", "9007199254740993", "9223372036854775807", "18446744073709551615"],
];
const BAD_DOCUMENTS: readonly Bytes[] = [
  "",
  "{",
  "[1,]",
  "nul",
  "'a'",
  "\xff",
  '"\xff"',
  "01",
  "1e999",
  "[".repeat(200),
];
const BAD_PATHS: readonly Bytes[] = [
  "",
  "$",
  "$[",
  "$..",
  "$a",
  "$[?",
  "\xff",
  "$[?@.*==1]",
  ".".repeat(70_000),
  "$[01]",
];

/** A name as part of JSON text. */
function quoted(name: Bytes): Bytes {
  return JSON.stringify(name);
}

/** A document, small for the most part. */
export function jsonText(draw: Draw, depth = 3): Bytes {
  if (depth === 0 || draw.oneIn(3)) return draw.pick(SCALARS);
  const count = draw.oneIn(20) ? 30 : draw.below(4);
  if (draw.oneIn(2)) return `[${Array.from({ length: count }, () => jsonText(draw, depth - 1)).join()}]`;
  const members = Array.from({ length: count }, (_, i) => {
    const name = count > 20 ? `name ${i}` : draw.pick(NAMES);
    return `${quoted(name)}:${jsonText(draw, depth - 1)}`;
  });
  return `{${members.join()}}`;
}

function value(draw: Draw): Bytes {
  return draw.oneIn(20) ? draw.pick(BAD_DOCUMENTS) : jsonText(draw, draw.below(4));
}

function segment(draw: Draw): Bytes {
  switch (draw.below(12)) {
    case 0:
      return ".*";
    case 1:
      return "..*";
    case 2:
      return `..${draw.pick(["a", "b", "c"])}`;
    case 3:
    case 4:
    case 5:
      return `[${draw.below(6) - 2}]`;
    case 6:
      return draw.pick(["[0:2]", "[-2:]", "[::-1]", "[0,1,0]", "['a','b']", "[*,0]"]);
    case 7:
      return draw.pick(["[?@>0]", "[?@.a]", "[?@==true||@=='text']", "[?(@.a==1.0)]", "[?length(@)<3]"]);
    case 8:
      return `[${quoted(draw.pick(NAMES))}]`;
    default:
      return `.${draw.pick(["a", "b", "c", "n", "new"])}`;
  }
}

function path(draw: Draw): Bytes {
  if (draw.oneIn(30)) return draw.pick(BAD_PATHS);
  const segments = Array.from({ length: draw.below(4) }, () => segment(draw)).join("");
  return draw.oneIn(4) ? segments || "." : `$${segments}`;
}

function number(draw: Draw): Bytes {
  return draw.pick(["1", "-1", "0", "0.5", "2", "1e308", "9223372036854775807", "x", '"1"']);
}

/** Values that occur one after the other. */
function values(draw: Draw): Bytes[] {
  return draw.list(3, () => value(draw));
}

export const jsonFamily: Family = {
  name: "json",
  commands: [],
  extensions: [
    (draw) => ["JSON.SET", draw.key(), "$", jsonText(draw)],
    (draw) => ["JSON.SET", draw.key(), "$", jsonText(draw)],
    (draw) => ["JSON.SET", draw.key(), draw.pick(["$", "."]), value(draw), ...draw.pick([[], ["NX"], ["XX"], ["x"]])],
    (draw) => ["JSON.SET", draw.key(), path(draw), value(draw)],
    (draw) => ["JSON.SET", draw.key(), path(draw), value(draw)],
    (draw) => ["JSON.MSET", ...draw.list(3, () => [draw.key(), draw.oneIn(2) ? "$" : path(draw), value(draw)]).flat()],
    (draw) => ["JSON.MERGE", draw.key(), path(draw), value(draw)],
    (draw) => ["JSON.MERGE", draw.key(), "$", jsonText(draw)],
    (draw) => ["JSON.DEL", draw.key(), path(draw)],
    (draw) => ["JSON.FORGET", draw.key(), path(draw)],
    (draw) => ["JSON.CLEAR", draw.key(), path(draw)],
    (draw) => ["JSON.GET", draw.key()],
    (draw) => ["JSON.GET", draw.key(), path(draw)],
    (draw) => ["JSON.GET", draw.key(), "INDENT", " ", "NEWLINE", "\n", ...draw.list(3, () => path(draw))],
    (draw) => ["JSON.MGET", ...draw.keys(), path(draw)],
    (draw) => ["JSON.NUMINCRBY", draw.key(), path(draw), number(draw)],
    (draw) => ["JSON.NUMMULTBY", draw.key(), path(draw), number(draw)],
    (draw) => ["JSON.STRAPPEND", draw.key(), path(draw), draw.oneIn(8) ? value(draw) : '"more \xc3\xa9"'],
    (draw) => ["JSON.STRLEN", draw.key(), path(draw)],
    (draw) => ["JSON.TOGGLE", draw.key(), path(draw)],
    (draw) => ["JSON.TYPE", draw.key(), path(draw)],
    (draw) => ["JSON.OBJKEYS", draw.key(), path(draw)],
    (draw) => ["JSON.OBJLEN", draw.key(), path(draw)],
    (draw) => ["JSON.ARRAPPEND", draw.key(), path(draw), ...values(draw)],
    (draw) => ["JSON.ARRAPPEND", draw.key(), path(draw), ...values(draw)],
    (draw) => ["JSON.ARRINSERT", draw.key(), path(draw), draw.count(), ...values(draw)],
    (draw) => ["JSON.ARRINSERT", draw.key(), path(draw), "0", ...values(draw)],
    (draw) => ["JSON.ARRINDEX", draw.key(), path(draw), value(draw), ...draw.list(2, () => draw.count())],
    (draw) => ["JSON.ARRLEN", draw.key(), path(draw)],
    (draw) => ["JSON.ARRPOP", draw.key(), path(draw), draw.count()],
    (draw) => ["JSON.ARRPOP", draw.key(), path(draw)],
    (draw) => ["JSON.ARRTRIM", draw.key(), path(draw), draw.count(), draw.count()],
    (draw) => ["JSON.RESP", draw.key(), path(draw)],
    (draw) => ["JSON.DEBUG", "MEMORY", draw.key(), path(draw)],
    (draw) => ["COPY", draw.key(), draw.key(), "REPLACE"],
    (draw) => ["RENAME", draw.key(), draw.key()],
  ],
};

/** LOLWUT: a maze of slashes, as computers of 1982 drew it with one line of BASIC, and the version. */
import { type Bytes, bytesFromText } from "../../kernel/bytes.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import { REDIS_VERSION } from "../command-facts.ts";
import { notInteger } from "../errors.ts";
import { type Reply, verbatim } from "../reply/reply.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

const COLUMNS = 40;
const LINES = 10;
const SIZE_MAX = 200;

export const lolwutRow: Row = {
  name: "LOLWUT",
  summary: "Draws a small picture and prints the version",
  arity: -1,
  flags: ["readonly", "fast"],
  categories: [],
  keys: noKeys,
  run: lolwut,
};

/** The versions that Redis draws, and how many sizes each of them reads and refuses if invalid. */
const SIZES_OF_VERSION: ReadonlyMap<number | bigint, number> = new Map([
  [5, 3],
  [6, 2],
]);

/** `LOLWUT [VERSION <n>] [<columns> [<lines>]]`; all versions look the same. */
function lolwut({ database, random, arg, argsFrom, argCount, word }: Call): Reply {
  const start = argCount > 2 && word(1) === "VERSION" ? 2 : 1;
  const drawnVersion = start === 2 ? parseInteger(arg(2)) : 0;
  if (drawnVersion === undefined) throw notInteger;
  const sizes = argsFrom(start === 2 ? 3 : 1).map(readSize);
  if (sizes.slice(0, SIZES_OF_VERSION.get(drawnVersion) ?? 0).includes(undefined)) throw notInteger;
  const [columns = COLUMNS, lines = LINES] = sizes;
  const rows = Array.from({ length: lines }, () =>
    Array.from({ length: columns }, () => (random.below(2) === 0 ? "\u2571" : "\u2572")).join(""),
  );
  const { version } = database.context;
  return verbatim(bytesFromText(`${rows.join("\n")}\n\nlarder ${version}, Redis ver. ${REDIS_VERSION}\n`));
}

function readSize(word: Bytes): number | undefined {
  const size = parseInteger(word);
  return size === undefined ? undefined : Math.min(Math.max(1, Number(size)), SIZE_MAX);
}

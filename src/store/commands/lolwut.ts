/** LOLWUT: a maze of slashes, as the computers of 1982 drew it in one line of BASIC, and the version. */
import { bytesFromText } from "../../kernel/bytes.ts";
import { type Call, noKeys, type Row } from "../command.ts";
import { notInteger } from "../errors.ts";
import { REDIS_VERSION } from "../redis-version.ts";
import { type Reply, verbatim } from "../reply.ts";
import { parseInteger } from "../structures/number-text.ts";

const COLUMNS = 40;
const LINES = 10;
const SIZE_MAX = 200;

export const lolwutRow: Row = {
  name: "LOLWUT",
  summary: "A small drawing and the version",
  arity: -1,
  flags: ["readonly", "fast"],
  categories: [],
  keys: noKeys,
  run: lolwut,
};

/** `LOLWUT [VERSION <n>] [<columns> [<lines>]]`; which version is asked for makes no difference. */
function lolwut({ database, random, argsFrom, argCount, word }: Call): Reply {
  const start = argCount > 2 && word(1) === "VERSION" ? 2 : 1;
  const numbers = argsFrom(start).map((text) => {
    const number = parseInteger(text);
    if (number === undefined) throw notInteger;
    return Math.min(Math.max(1, Number(number)), SIZE_MAX);
  });
  const [columns = COLUMNS, lines = LINES] = start === 2 ? numbers.slice(1) : numbers;
  const rows = Array.from({ length: lines }, () =>
    Array.from({ length: columns }, () => (random.below(2) === 0 ? "\u2571" : "\u2572")).join(""),
  );
  const { version } = database.context;
  return verbatim(bytesFromText(`${rows.join("\n")}\n\nlarder ${version}, Redis ver. ${REDIS_VERSION}\n`));
}

/**
 * Random rules of ACL SETUSER: mostly valid ones on few commands, keys and
 * channels, so that they interact; sometimes an invalid one.
 */
import type { Bytes } from "../../src/kernel/bytes.ts";
import type { Command } from "../../src/store/command.ts";
import { type Draw, KEYS } from "./draw.ts";

const FLAGS = ["on", "off", "nopass", "resetpass", "sanitize-payload", "skip-sanitize-payload", "reset", "ON", "Reset"];
const SELECTOR_WORDS = ["allkeys", "resetkeys", "~*", "allchannels", "resetchannels", "&*", "%R~*", "%W~*", "%RW~*"];
const COMMAND_WORDS = ["allcommands", "nocommands", "+@all", "-@all", "+@ALL"];
const PATTERNS = ["a", "b", "a*", "*", "?", "[ab]", "key:*", "", "\x00*", "a key*", "c", "d", "[^a]", "a**", "\\a"];
const CHANNELS = ["news", "n*", "news.*", "*", "?ews", "", "other"];
const PASSWORDS = ["p", "q", "", "long password"];
const HASHES = ["148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940", "abc", "G".repeat(64)];
const MALFORMED = [
  "",
  "what",
  "+",
  "-",
  "+@",
  "~",
  "%",
  "%~a",
  "%X~a",

  "&",
  "+get|",
  "+config|",
  "+config|get|x",
];
const UNKNOWN = ["+nope", "-nope", "+@nope", "-@nope", "+config|nope", "-config|nope", "-get|x", "+|get", "+GET|a|b"];

export interface Vocabulary {
  /** Full names of commands that both servers know. */
  readonly commands: readonly Bytes[];
  readonly categories: readonly Bytes[];
}

/** Names for rules: those of these commands and their subcommands. */
export function namesOfRules(commands: readonly Command[]): readonly Bytes[] {
  return commands.flatMap(({ fullName, subcommandByName }) => [
    fullName,
    ...[...(subcommandByName?.values() ?? [])].map((subcommand) => subcommand.fullName),
  ]);
}

/** One to four rules, sometimes with a missing end: after all others, since Redis forgets a rule before another one. */
export function drawRules(draw: Draw, vocabulary: Vocabulary): readonly Bytes[] {
  const rules = Array.from({ length: 1 + draw.below(4) }, () => drawRule(draw, vocabulary)).flat();
  return draw.oneIn(50) ? [...rules, "(+get"] : rules;
}

function drawRule(draw: Draw, vocabulary: Vocabulary): readonly Bytes[] {
  if (draw.oneIn(60)) return [draw.pick(draw.oneIn(2) ? MALFORMED : UNKNOWN)];
  if (draw.oneIn(12)) return [draw.pick(FLAGS)];
  if (draw.oneIn(12)) return [drawPasswordRule(draw)];
  if (draw.oneIn(8)) return drawSelector(draw, vocabulary);
  return [drawSelectorRule(draw, vocabulary)];
}

function drawSelectorRule(draw: Draw, { commands, categories }: Vocabulary): Bytes {
  const sign = draw.pick(["+", "+", "-"]);
  switch (draw.below(6)) {
    case 0:
      return draw.pick(draw.oneIn(3) ? COMMAND_WORDS : SELECTOR_WORDS);
    case 1:
      return `${draw.pick(["~", "~", "%R~", "%W~", "%RW~", "%wr~"])}${draw.pick(draw.oneIn(3) ? KEYS : PATTERNS)}`;
    case 2:
      return `&${draw.pick(CHANNELS)}`;
    case 3:
      return `${sign}@${draw.pick(categories)}`;
    case 4:
      return `+${draw.pick(["get", "set", "mget", "select", "del"])}|${draw.pick(["a", "b", "0", "A"])}`;
    default: {
      const name = draw.pick(commands);
      return sign + (draw.oneIn(5) ? name.toUpperCase() : name);
    }
  }
}

function drawPasswordRule(draw: Draw): Bytes {
  return draw.oneIn(3) ? draw.pick(["#", "!"]) + draw.pick(HASHES) : draw.pick([">", ">", "<"]) + draw.pick(PASSWORDS);
}

/** As one word or as several. */
function drawSelector(draw: Draw, vocabulary: Vocabulary): readonly Bytes[] {
  if (draw.oneIn(6)) return ["clearselectors"];
  // Words with spaces or quotes have another meaning inside one word than in several.
  const rules = Array.from({ length: draw.below(4) }, () => drawSelectorRule(draw, vocabulary)).filter(
    (rule) => !/[\s"'\\\0]|\xff/.test(rule),
  );
  if (draw.oneIn(2)) return [`(${rules.join(" ")})`];
  if (rules.length === 0) return ["()"];
  const words = [...rules];
  words[0] = `(${words[0]}`;
  words[words.length - 1] += ")";
  return words;
}

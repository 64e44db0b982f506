/**
 * Random programs. A family defines its commands; a program is about two
 * hundred of them on a few keys, mixed with commands that create keys of other
 * types, delete keys and let them expire, sometimes in a transaction.
 */
import type { Bytes } from "../../src/kernel/bytes.ts";
import type { Comparison } from "./compare.ts";
import { Draw } from "./draw.ts";

export type Command = readonly Bytes[];

export interface Family {
  /** As in `family(name, …)` of the store. */
  readonly name: string;
  /** One generator per command and form; one that is listed twice occurs twice as often. */
  readonly commands: readonly ((draw: Draw) => Bytes[])[];
  /** Commands and options that Redis 7.0.15 lacks: never sent to it, but their journal records are also tested. */
  readonly extensions?: readonly ((draw: Draw) => Bytes[])[];
  /** Commands that must stay as drawn: with a word missing, their effect would be random. */
  readonly undamaged?: ReadonlySet<string>;
  /** True if commands of other families in between would influence the replies of Redis. */
  readonly isAlone?: boolean;
  /** Comparisons of replies other than byte by byte, by the command's name in capitals. */
  readonly comparisons?: ReadonlyMap<string, Comparison>;
}

/** One command, or several in a transaction. */
export type Step = readonly Command[];

export interface Program {
  /** Draws the same program again. */
  readonly seed: number;
  readonly steps: readonly Step[];
}

/** The approximate number of commands of a program. */
const PROGRAM_COMMANDS = 200;
/** One in this many steps is not a command of the family. */
const SURROUNDING_ONE_IN = 8;
/** One in this many programs has transactions of up to this many commands. */
const TRANSACTIONS_ONE_IN = 5;
const TRANSACTION_COMMANDS_MAX = 5;

/** Changes types and expiries of keys, and deletes them. */
const surroundings: readonly ((draw: Draw) => Bytes[])[] = [
  (draw) => ["SET", draw.key(), draw.value()],
  (draw) => ["HSET", draw.key(), "field", draw.value()],
  (draw) => ["HSET", draw.key(), "field", draw.value()],
  (draw) => ["RPUSH", draw.key(), draw.value()],
  (draw) => ["SADD", draw.key(), draw.value()],
  (draw) => ["DEL", ...draw.keys()],
  (draw) => ["PEXPIREAT", draw.key(), draw.millisecondsMoment()],
  (draw) => ["PERSIST", draw.key()],
  (draw) => ["RENAME", draw.key(), draw.key()],
  (draw) => ["COPY", draw.key(), "copy", "REPLACE"],
];

export interface DrawOptions {
  /** Also commands that Redis lacks. */
  readonly extensions: boolean;
}

/** The program of a seed. */
export function drawProgram(family: Family, options: DrawOptions & { seed: number }): Program {
  const draw = new Draw(options.seed);
  const own = generatorsOf(family, options);
  const isTransactional = draw.oneIn(TRANSACTIONS_ONE_IN);
  const steps: Step[] = [];
  let commandCount = 0;
  while (commandCount < PROGRAM_COMMANDS) {
    const step: Command[] = [];
    const length = isTransactional ? 1 + draw.below(TRANSACTION_COMMANDS_MAX) : 1;
    while (step.length < length) {
      const isOwn = family.isAlone === true || !draw.oneIn(SURROUNDING_ONE_IN);
      const words = draw.pick(isOwn ? own : surroundings)(draw);
      step.push(family.undamaged?.has(words[0] ?? "") === true ? words : draw.damage(words));
    }
    steps.push(step);
    commandCount += length;
  }
  return { seed: options.seed, steps };
}

/** The names of all commands that a family draws. */
export function namesOf(family: Family, options: DrawOptions): ReadonlySet<string> {
  const draw = new Draw(1);
  return new Set(generatorsOf(family, options).map((make) => (make(draw)[0] ?? "").toUpperCase()));
}

function generatorsOf(family: Family, { extensions }: DrawOptions): Family["commands"] {
  return extensions ? [...family.commands, ...(family.extensions ?? [])] : family.commands;
}

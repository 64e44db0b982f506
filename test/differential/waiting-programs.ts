/**
 * Random programs of several connections, some of which block: pushes, pops and
 * blocking commands, transactions, keys that are deleted or change type, and
 * connections that close.
 *
 * Not drawn: commands that store a list or sorted set over a key of another type
 * (ZUNIONSTORE, SORT STORE). Redis 7.0 serves no client then, later versions and
 * we do. Nor a rename over a key of another type: if it changes
 * its type again in the same transaction, the order in which Redis serves the
 * keys depends on whether any client waits for a value of the type between.
 */
import type { Bytes } from "../../src/kernel/bytes.ts";
import { Draw } from "./draw.ts";
import type { Command } from "./programs.ts";

/** The last one never blocks, so that the program can always continue. */
export const CONNECTION_COUNT = 5;

export type WaitingStep =
  | { readonly kind: "command"; readonly by: number; readonly command: Command }
  | { readonly kind: "transaction"; readonly by: number; readonly commands: readonly Command[] }
  | { readonly kind: "leave"; readonly by: number };

const LISTS: readonly Bytes[] = ["l1", "l2", "l3"];
const SORTED_SETS: readonly Bytes[] = ["z1", "z2"];
const STREAMS: readonly Bytes[] = ["s1", "s2"];
const KEYS = [...LISTS, ...SORTED_SETS, ...STREAMS];
const GROUPS: readonly Bytes[] = ["g", "h"];
const CONSUMERS: readonly Bytes[] = ["alice", "bob"];

/** Draws commands; ids of entries always increase. */
export class WaitingDraw {
  readonly #draw: Draw;
  #entryCount = 0;

  constructor(seed: number) {
    this.#draw = new Draw(seed);
  }

  /** The next step. `canSpeak` has the connections that do not wait, including the last one. */
  step(canSpeak: readonly number[]): WaitingStep {
    const draw = this.#draw;
    if (draw.oneIn(40)) return { kind: "leave", by: draw.below(CONNECTION_COUNT - 1) };
    const by = draw.pick(canSpeak);
    if (draw.oneIn(5)) {
      const commands = draw.list(5, () => (draw.oneIn(8) ? this.#blocking() : this.#plain()));
      return { kind: "transaction", by, commands };
    }
    const isBlocking = by < CONNECTION_COUNT - 1 && !draw.oneIn(3);
    return { kind: "command", by, command: isBlocking ? this.#blocking() : this.#plain() };
  }

  #blocking(): Command {
    return this.#draw.pick(blocking)(this.#draw);
  }

  #plain(): Command {
    this.#entryCount += 1;
    return this.#draw.pick(plain)(this.#draw, this.#entryCount);
  }
}

/** The names of the blocking commands, in capitals. */
export function waitingNames(): ReadonlySet<string> {
  const draw = new Draw(1);
  return new Set(blocking.map((make) => make(draw)[0] ?? ""));
}

/** Mostly of the type that the command is for. */
function of(draw: Draw, keys: readonly Bytes[]): Bytes {
  return draw.oneIn(15) ? draw.pick(KEYS) : draw.pick(keys);
}

function some(draw: Draw, keys: readonly Bytes[]): Bytes[] {
  return draw.list(3, () => of(draw, keys));
}

/** Never so short that it could expire during a test. */
function seconds(draw: Draw): Bytes {
  return draw.pick(["0", "0", "0", "1000", "1000.5", draw.oneIn(5) ? draw.pick(["-1", "x", "-inf"]) : "0"]);
}

function end(draw: Draw): Bytes {
  return draw.pick(["LEFT", "RIGHT"]);
}

function counted(draw: Draw): Bytes[] {
  return draw.oneIn(2) ? ["COUNT", `${1 + draw.below(4)}`] : [];
}

const blocking: readonly ((draw: Draw) => Command)[] = [
  (draw) => ["BLPOP", ...some(draw, LISTS), seconds(draw)],
  (draw) => ["BRPOP", ...some(draw, LISTS), seconds(draw)],
  (draw) => ["BLMOVE", of(draw, LISTS), of(draw, LISTS), end(draw), end(draw), seconds(draw)],
  (draw) => ["BLMOVE", of(draw, LISTS), of(draw, LISTS), end(draw), end(draw), seconds(draw)],
  (draw) => ["BRPOPLPUSH", of(draw, LISTS), of(draw, LISTS), seconds(draw)],
  (draw) => {
    const keys = some(draw, LISTS);
    return ["BLMPOP", seconds(draw), `${keys.length}`, ...keys, end(draw), ...counted(draw)];
  },
  (draw) => ["BZPOPMIN", ...some(draw, SORTED_SETS), seconds(draw)],
  (draw) => ["BZPOPMAX", ...some(draw, SORTED_SETS), seconds(draw)],
  (draw) => {
    const keys = some(draw, SORTED_SETS);
    return ["BZMPOP", seconds(draw), `${keys.length}`, ...keys, draw.pick(["MIN", "MAX"]), ...counted(draw)];
  },
  // One stream: of several, Redis 7.0 serves the one that became ready, later versions and we serve all.
  (draw) => {
    const id = draw.pick(["$", "$", "0", `${draw.below(200)}-1`]);
    return ["XREAD", ...counted(draw), "BLOCK", "0", "STREAMS", of(draw, STREAMS), id];
  },
  readGroup,
  readGroup,
];

function readGroup(draw: Draw): Command {
  const acknowledges = draw.oneIn(4) ? ["NOACK"] : [];
  const group = ["GROUP", draw.pick(GROUPS), draw.pick(CONSUMERS)];
  const stream = ["STREAMS", of(draw, STREAMS), draw.oneIn(12) ? "0" : ">"];
  return ["XREADGROUP", ...group, ...counted(draw), "BLOCK", "0", ...acknowledges, ...stream];
}

const plain: readonly ((draw: Draw, number: number) => Command)[] = [
  (draw) => ["LPUSH", of(draw, LISTS), ...draw.list(4, () => `${draw.below(100)}`)],
  (draw) => ["RPUSH", of(draw, LISTS), ...draw.list(4, () => `${draw.below(100)}`)],
  (draw) => ["RPUSH", of(draw, LISTS), `${draw.below(100)}`],
  (draw) => ["LMOVE", of(draw, LISTS), of(draw, LISTS), end(draw), end(draw)],
  (draw) => ["LPOP", of(draw, LISTS)],
  (draw) => ["ZADD", of(draw, SORTED_SETS), ...draw.list(3, () => [`${draw.below(9)}`, `m${draw.below(9)}`]).flat()],
  (draw) => ["ZADD", of(draw, SORTED_SETS), `${draw.below(9)}`, `m${draw.below(9)}`],
  (draw) => ["ZPOPMIN", of(draw, SORTED_SETS)],
  (draw, number) => ["XADD", of(draw, STREAMS), `${number}-1`, "n", `${number}`],
  (draw, number) => ["XADD", of(draw, STREAMS), `${number}-1`, "n", `${number}`],
  (draw, number) => ["XADD", of(draw, STREAMS), `${number}-1`, "n", `${number}`],
  (draw) => ["XDEL", of(draw, STREAMS), `${draw.below(300)}-1`],
  (draw) => ["XTRIM", of(draw, STREAMS), "MAXLEN", `${draw.below(4)}`],
  (draw) => ["XGROUP", "CREATE", of(draw, STREAMS), draw.pick(GROUPS), draw.pick(["$", "0"]), "MKSTREAM"],
  (draw) => ["XGROUP", "CREATE", of(draw, STREAMS), draw.pick(GROUPS), draw.pick(["$", "0"]), "MKSTREAM"],
  (draw) => ["XGROUP", "DESTROY", of(draw, STREAMS), draw.pick(GROUPS)],
  (draw) => ["XGROUP", "SETID", of(draw, STREAMS), draw.pick(GROUPS), draw.pick(["$", "0"])],
  (draw) => ["XACK", of(draw, STREAMS), draw.pick(GROUPS), `${draw.below(300)}-1`],
  (draw) => ["DEL", ...draw.list(2, () => draw.pick(KEYS))],
  (draw) => {
    const keys = draw.pick([LISTS, SORTED_SETS, STREAMS]);
    return ["RENAME", draw.pick(keys), draw.pick(keys)];
  },
  (draw) => {
    const keys = draw.pick([LISTS, SORTED_SETS, STREAMS]);
    const at = draw.below(keys.length);
    const others = keys.filter((_, index) => index !== at);
    return ["COPY", keys[at] as Bytes, draw.pick(others), "REPLACE"];
  },
  (draw) => ["SET", draw.pick(KEYS), "string"],
  (draw) => (draw.oneIn(4) ? ["FLUSHALL"] : ["EXISTS", draw.pick(KEYS)]),
];

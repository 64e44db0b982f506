/** Random list commands. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";

/** Few elements, so that many are equal, and some near the maximum length of a packed one. */
function element(draw: Draw): Bytes {
  if (draw.oneIn(60)) return "long".repeat(64).slice(0, 254 + draw.below(3));
  return draw.oneIn(10) ? draw.value() : draw.pick(["x", "y", "", "element", "\x00\xff\r\n"]);
}

/** Sometimes enough of them to fill blocks. */
function elements(draw: Draw): Bytes[] {
  if (draw.oneIn(12)) return draw.list(draw.pick([140, 400, 900]), () => (draw.oneIn(3) ? element(draw) : draw.text()));
  return draw.list(5, () => element(draw));
}

function index(draw: Draw): Bytes {
  return draw.oneIn(4) ? `${draw.below(600) - 300}` : draw.count();
}

function end(draw: Draw): Bytes {
  return draw.oneIn(12) ? draw.oddCase(draw.pick(["LEFT", "RIGHT", "BEFORE"])) : draw.pick(["LEFT", "RIGHT"]);
}

/** The number of requested elements: Redis accepts any number. */
function amount(draw: Draw): Bytes {
  return draw.oneIn(6) ? draw.pick(["200", "500", "9223372036854775807"]) : draw.count();
}

/** Not the smallest integer: Redis 7.0 negates it, so it stays negative, and then COUNT limits nothing. */
function rank(draw: Draw): Bytes {
  const count = draw.count();
  return count === "-9223372036854775808" ? "-9223372036854775807" : count;
}

function positionOptions(draw: Draw): Bytes[] {
  return draw.options([() => ["RANK", rank(draw)], () => ["COUNT", amount(draw)], () => ["MAXLEN", index(draw)]]);
}

export const listFamily: Family = {
  name: "list",
  commands: [
    (draw) => ["LINDEX", draw.key(), index(draw)],
    (draw) => ["LINSERT", draw.key(), draw.oddCase(draw.pick(["BEFORE", "AFTER"])), element(draw), element(draw)],
    (draw) => ["LINSERT", draw.key(), draw.pick(["BEFORE", "AFTER", "LEFT"]), draw.text(), element(draw)],
    (draw) => ["LLEN", draw.key()],
    (draw) => ["LMOVE", draw.key(), draw.key(), end(draw), end(draw)],
    (draw) => ["LMOVE", draw.key(), draw.key(), end(draw), end(draw)],
    (draw) => {
      const keys = draw.keys();
      const count = draw.oneIn(10) ? draw.count() : `${keys.length}`;
      return ["LMPOP", count, ...keys, end(draw), ...draw.options([() => ["COUNT", amount(draw)]], 1)];
    },
    (draw) => ["LPOP", draw.key(), ...draw.options([() => [amount(draw)]], 1)],
    (draw) => ["RPOP", draw.key(), ...draw.options([() => [amount(draw)]], 1)],
    (draw) => ["LPOS", draw.key(), element(draw), ...positionOptions(draw)],
    (draw) => ["LPOS", draw.key(), element(draw), ...positionOptions(draw)],
    (draw) => ["LPUSH", draw.key(), ...elements(draw)],
    (draw) => ["LPUSH", draw.key(), ...elements(draw)],
    (draw) => ["RPUSH", draw.key(), ...elements(draw)],
    (draw) => ["RPUSH", draw.key(), ...elements(draw)],
    (draw) => ["LPUSHX", draw.key(), ...elements(draw)],
    (draw) => ["RPUSHX", draw.key(), ...elements(draw)],
    (draw) => ["LRANGE", draw.key(), index(draw), index(draw)],
    (draw) => ["LRANGE", draw.key(), index(draw), index(draw)],
    (draw) => ["LREM", draw.key(), draw.count(), element(draw)],
    (draw) => ["LREM", draw.key(), draw.count(), draw.text()],
    (draw) => ["LSET", draw.key(), index(draw), element(draw)],
    (draw) => ["LSET", draw.key(), index(draw), element(draw)],
    (draw) => ["LTRIM", draw.key(), draw.count(), draw.pick(["-1", "-5", index(draw)])],
    (draw) => ["RPOPLPUSH", draw.key(), draw.key()],
    (draw) => ["OBJECT", "ENCODING", draw.key()],
  ],
};

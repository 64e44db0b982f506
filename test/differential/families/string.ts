/** Random string commands. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";

function setOptions(draw: Draw): Bytes[] {
  return draw.options([
    () => draw.expiry(),
    () => draw.expiry(),
    () => ["NX"],
    () => ["XX"],
    () => ["GET"],
    () => ["KEEPTTL"],
  ]);
}

function getExOptions(draw: Draw): Bytes[] {
  return draw.options([() => draw.expiry(), () => draw.expiry(), () => ["PERSIST"]], 2);
}

function lcsOptions(draw: Draw): Bytes[] {
  return draw.options([
    () => ["LEN"],
    () => ["IDX"],
    () => ["IDX"],
    () => ["WITHMATCHLEN"],
    () => ["MINMATCHLEN", draw.count()],
  ]);
}

/** A condition of Redis 8.4, on a value or a digest that may be the current one. */
function condition(draw: Draw): Bytes[] {
  if (draw.oneIn(2)) return [draw.pick(["IFEQ", "IFNE"]), draw.text()];
  return [
    draw.pick(["IFDEQ", "IFDNE"]),
    draw.pick(["9555e8555c62dcfd", "2D06800538D394C2", "0000000000000000", "short"]),
  ];
}

export const stringFamily: Family = {
  name: "string",
  commands: [
    (draw) => ["APPEND", draw.key(), draw.value()],
    (draw) => ["APPEND", draw.key(), draw.value()],
    (draw) => ["DECR", draw.key()],
    (draw) => ["DECRBY", draw.key(), draw.integer()],
    (draw) => ["GET", draw.key()],
    (draw) => ["GETDEL", draw.key()],
    (draw) => ["GETEX", draw.key(), ...getExOptions(draw)],
    (draw) => ["GETRANGE", draw.key(), draw.offset(), draw.offset()],
    (draw) => ["GETSET", draw.key(), draw.value()],
    (draw) => ["INCR", draw.key()],
    (draw) => ["INCRBY", draw.key(), draw.integer()],
    (draw) => ["INCRBYFLOAT", draw.key(), draw.float()],
    (draw) => ["INCRBYFLOAT", draw.key(), draw.float()],
    (draw) => ["LCS", draw.key(), draw.key(), ...lcsOptions(draw)],
    (draw) => ["MGET", ...draw.keys()],
    (draw) => ["MSET", ...draw.list(3, () => [draw.key(), draw.value()]).flat()],
    (draw) => ["MSETNX", ...draw.list(3, () => [draw.key(), draw.value()]).flat()],
    (draw) => ["PSETEX", draw.key(), draw.milliseconds(), draw.value()],
    (draw) => ["SET", draw.key(), draw.value()],
    (draw) => ["SET", draw.key(), draw.value(), ...setOptions(draw)],
    (draw) => ["SET", draw.key(), draw.value(), ...setOptions(draw)],
    (draw) => ["SETEX", draw.key(), draw.seconds(), draw.value()],
    (draw) => ["SETNX", draw.key(), draw.value()],
    (draw) => ["SETRANGE", draw.key(), draw.offset(), draw.value()],
    (draw) => ["STRLEN", draw.key()],
    (draw) => ["SUBSTR", draw.key(), draw.offset(), draw.offset()],
  ],
  extensions: [
    (draw) => ["DELEX", draw.key(), ...(draw.oneIn(4) ? [] : condition(draw))],
    (draw) => ["DELIFEQ", draw.key(), draw.text()],
    (draw) => {
      const number = (): Bytes => (draw.oneIn(2) ? draw.integer() : draw.float());
      const options = draw.options([
        () => [draw.pick(["BYINT", "BYFLOAT"]), number()],
        () => [draw.pick(["LBOUND", "UBOUND"]), number()],
        () => ["SATURATE"],
        () => ["EX", draw.seconds(), ...(draw.oneIn(2) ? ["ENX"] : [])],
        () => ["PERSIST"],
      ]);
      return ["INCREX", draw.key(), ...options];
    },
    (draw) => ["DIGEST", draw.key()],
    (draw) => {
      const pairs = draw.list(3, () => [draw.key(), draw.value()]);
      const times = [() => ["EX", draw.seconds()], () => ["PX", draw.milliseconds()]];
      const options = draw.options([() => ["NX"], () => ["XX"], () => ["KEEPTTL"], ...times], 2);
      return ["MSETEX", draw.oneIn(12) ? draw.count() : `${pairs.length}`, ...pairs.flat(), ...options];
    },
    (draw) => ["SET", draw.key(), draw.text(), ...condition(draw), ...setOptions(draw)],
  ],
};

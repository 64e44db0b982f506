/** Random HyperLogLog commands. The state is compared through GET, so every byte of every sketch is compared. */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import type { Draw } from "../draw.ts";
import type { Family } from "../programs.ts";

/** Runs of the sparse form over all registers, split in ways that PFADD never produces. */
const SOUND_BODIES: readonly Bytes[] = [
  "\x7f\xff",
  "\x80\x7f\xfe",
  "\x81\x81\x7f\xfb",
  "\xff\xff\x7f\xf7",
  "\x40\x00\x7f\xfe",
];
/** Too few registers, too many, none. */
const CORRUPTED_BODIES: readonly Bytes[] = [
  "\x7f\xfe\x80\x80",
  "\x7f\xfe",
  "\x7f\xff\x80",
  "\x7f\xff\x00",
  "\x80\x7f\xff",
  "",
];
/** An invalid or corrupted sketch. Redis adds elements until it meets the damage, we add none. */
const CORRUPTED_KEY = "corrupted";

/** Elements of many sizes, so that every tail of the hash occurs. */
function elements(draw: Draw): Bytes[] {
  const count = draw.oneIn(8) ? draw.pick([100, 400, 1_500]) : draw.below(5);
  if (count > 5) return Array.from({ length: count }, () => `element:${draw.below(20_000)}`);
  return Array.from({ length: count }, () => draw.value());
}

function header(draw: Draw, encoding: Bytes): Bytes {
  const cardinality = draw.pick(["\x00".repeat(8), `${"\x00".repeat(7)}\x80`, "\x05\x00\x00\x00\x00\x00\x00\x00"]);
  return `HYLL${encoding}\x00\x00\x00${cardinality}`;
}

function sound(draw: Draw): Bytes {
  if (draw.oneIn(3)) return `${header(draw, "\x00")}${draw.pick(["\x00\x00", "\x41\x10", "\xff\xff"]).repeat(6_144)}`;
  return header(draw, "\x01") + draw.pick(SOUND_BODIES);
}

function corrupted(draw: Draw): Bytes {
  if (draw.oneIn(3)) return header(draw, draw.pick(["\x00", "\x01", "\x02"])).slice(0, 1 + draw.below(16));
  return header(draw, draw.oneIn(6) ? draw.pick(["\x00", "\x02"]) : "\x01") + draw.pick(CORRUPTED_BODIES);
}

export const hyperLogLogFamily: Family = {
  name: "hyperloglog",
  commands: [
    (draw) => ["PFADD", draw.key(), ...elements(draw)],
    (draw) => ["PFADD", draw.key(), ...elements(draw)],
    (draw) => ["PFADD", draw.key(), ...elements(draw)],
    (draw) => ["PFCOUNT", draw.key()],
    (draw) => ["PFCOUNT", draw.key()],
    (draw) => ["PFCOUNT", ...draw.keys()],
    (draw) => ["PFMERGE", ...draw.keys()],
    (draw) => ["GET", draw.key()],
    (draw) => ["SET", draw.key(), sound(draw)],
    (draw) => ["SET", CORRUPTED_KEY, corrupted(draw)],
    (draw) => ["PFADD", CORRUPTED_KEY, draw.value()],
    (draw) => ["PFCOUNT", CORRUPTED_KEY, ...(draw.oneIn(2) ? draw.keys() : [])],
    (draw) => ["PFMERGE", draw.key(), CORRUPTED_KEY],
    (draw) => ["DEL", draw.key()],
    (draw) => ["DEL", draw.key()],
    (draw) => ["EXPIRE", draw.key(), "1000"],
  ],
};

/** Files of graphs with damage at many places, and whether a graph accepts one of them. */

import { seededRandom } from "../../../src/kernel/random.ts";
import type { GraphBuilder } from "../../../src/vector/graph/graph.ts";
import { isProof } from "../../budget.ts";
import { atOnce } from "../../harness/at-once.ts";
import type { GraphWorld } from "./graph-world.ts";

const PLACES_BETWEEN = isProof() ? 500 : 100;

/** Every word of the header and of the trailer, and some between. */
function placesOf(bytes: Uint8Array): readonly number[] {
  const random = seededRandom(5);
  const ends = Array.from({ length: 64 }, (_, i) => [i, bytes.length - 1 - i]).flat();
  return [...ends, ...Array.from({ length: PLACES_BETWEEN }, () => random.below(bytes.length))];
}

export function* damagedFiles(bytes: Uint8Array): Generator<{ readonly what: string; readonly damaged: Uint8Array }> {
  for (const place of placesOf(bytes)) {
    const flipped = bytes.slice();
    flipped[place] = (flipped[place] as number) ^ (1 << (place & 7));
    yield { what: `a bit flipped at ${place}`, damaged: flipped };
    if (place === 0) continue;
    yield { what: `cut off at ${place}`, damaged: bytes.slice(0, place) };
    const start = place & ~63;
    const end = Math.min(bytes.length, start + 64);
    const twice = Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
    yield { what: `64 bytes at ${start} doubled`, damaged: twice };
    if (bytes.subarray(start, end).every((byte) => byte === 0)) continue;
    yield { what: `zeros at ${start}`, damaged: bytes.slice().fill(0, start, end) };
  }
}

/** The first damaged file that is accepted. */
export function findBelieved(builder: GraphBuilder, world: GraphWorld, bytes: Uint8Array): string | undefined {
  const { graphOptions, versions } = world;
  for (const { what, damaged } of damagedFiles(bytes)) {
    const loaded = atOnce(builder.load(graphOptions, damaged, versions));
    if (loaded.kind === "refused") continue;
    loaded.graph.close();
    return what;
  }
  return undefined;
}

/**
 * The bits of filters in the memory of a graph, for walks of other threads. Bits
 * that a walk uses stay as they are until it ends; the same bits are copied once.
 */
import type { GraphKernel } from "../graph/graph-kernel.ts";
import type { WalkTask } from "./search-task.ts";

/** The bits that are kept although no walk uses them. */
const KEPT_MAX = 4;

export interface SharedFilter {
  /** In the graph's memory. */
  readonly address: number;
  /** The walk has ended. */
  release(): void;
}

interface Place {
  address: number;
  /** The number of words that fit at the address. */
  capacity: number;
  matches: Uint32Array | undefined;
  version: number;
  userCount: number;
}

export class SharedFilters {
  readonly #kernel: GraphKernel;
  /** The last used one is the last. */
  readonly #places: Place[] = [];

  constructor(kernel: GraphKernel) {
    this.#kernel = kernel;
  }

  /** The address of the bits for one walk. Undefined if there is no memory for them. */
  open({ matches, version }: NonNullable<WalkTask["accepts"]>): SharedFilter | undefined {
    const known = this.#places.find((place) => place.matches === matches && place.version === version);
    const place = known ?? this.#copy(matches, version);
    if (place === undefined) return undefined;
    this.#places.splice(this.#places.indexOf(place), 1);
    this.#places.push(place);
    place.userCount += 1;
    return {
      address: place.address,
      release: () => {
        place.userCount -= 1;
      },
    };
  }

  #copy(matches: Uint32Array, version: number): Place | undefined {
    const place = this.#findUnused() ?? this.#addPlace();
    if (place.capacity < matches.length) {
      // Memory of a graph is never freed, so it grows in large steps.
      const capacity = Math.max(matches.length, place.capacity * 2);
      const address = this.#kernel.code.allocate(capacity * Uint32Array.BYTES_PER_ELEMENT) >>> 0;
      if (address === 0) return undefined;
      place.address = address;
      place.capacity = capacity;
    }
    this.#kernel.words.set(matches, place.address / Uint32Array.BYTES_PER_ELEMENT);
    place.matches = matches;
    place.version = version;
    return place;
  }

  /** The least recently used place without a walk, unless there may be more places. */
  #findUnused(): Place | undefined {
    return this.#places.length < KEPT_MAX ? undefined : this.#places.find(({ userCount }) => userCount === 0);
  }

  #addPlace(): Place {
    const place = { address: 0, capacity: 0, matches: undefined, version: 0, userCount: 0 };
    this.#places.push(place);
    return place;
  }
}

/**
 * Bodies that are only in the segments of a shard, as the subject of its lives: the
 * engine holds their places, and its snapshots too. So a trim must leave every
 * segment that has a live body (I10), for owners whose disk is empty as well.
 */
import type { Random } from "../../../src/kernel/random.ts";
import type { AreaStorage } from "../../../src/persistence/area-storage.ts";
import { BodyEngine, putFrame } from "../bodies/body-engine.ts";
import type { ClientParts, Clients, Reply } from "../crash/subject.ts";
import type { ShardSubject } from "./shard-life.ts";

/** The live bodies. */
type Bodies = ReadonlyMap<string, Buffer>;

const BYTES_MAX = 300;
/** Few, so that segments become free while some of their bodies live. */
const BODIES_MAX = 12;

export const bodySubject: ShardSubject<BodyEngine, Bodies> = {
  area: "bodies",
  empty: new Map(),
  open: () => new BodyEngine(),
  stateOf: (engine) => textOf(engine.bodies.keys()),
  textOf: (state) => textOf(state.keys()),
  clients: (parts) => new BodyClients(parts),
  bodies: {
    written: (engine, batch) => engine.written(batch),
    mayRemove: (engine, segment) => engine.liveIn(segment).length === 0,
    findLost,
  },
};

function textOf(ids: Iterable<string>): string {
  return [...ids].sort().join("\n");
}

async function findLost(engine: BodyEngine, area: AreaStorage, state: Bodies): Promise<string | undefined> {
  // Clients may write meanwhile.
  const places = new Map(engine.bodies);
  for (const [id, body] of state) {
    const place = places.get(id);
    if (place === undefined) return `Body ${id} has no place`;
    const { segment, offset, bytes } = place;
    const found = await area.read(segment, offset, bytes).catch((error: Error) => error);
    if (engine.bodies.get(id) !== place) continue; // It was dropped or moved.
    if (found instanceof Error) return `Body ${id} in segment ${segment} cannot be read: ${found.message}`;
    if (!found.equals(body)) return `Body ${id} in segment ${segment} differs from what was put`;
  }
  return undefined;
}

class BodyClients implements Clients<Bodies> {
  readonly #parts: ClientParts<BodyEngine, Bodies>;
  readonly #bodies: Map<string, Buffer>;

  constructor(parts: ClientParts<BodyEngine, Bodies>) {
    this.#parts = parts;
    this.#bodies = new Map(parts.state);
  }

  begin(): void {}

  ask(): Reply {
    const { engine, journal, random } = this.#parts;
    if (journal.refusal !== undefined) return { kind: "blind" };
    const ids = [...this.#bodies.keys()];
    const id = ids[random.below(ids.length + 1)];
    const isFull = ids.length > BODIES_MAX;
    if (id === undefined || (!isFull && random.below(3) > 0))
      this.#put(`${journal.end}-${random.below(2 ** 32)}`, random);
    else if (random.below(4) === 0) engine.put(journal, id, putFrame(id, this.#bodies.get(id) ?? Buffer.alloc(0)));
    else {
      engine.drop(journal, id);
      this.#bodies.delete(id);
    }
    return { kind: "waits", sent: journal.whenSafe(journal.end) };
  }

  upkeep(): void {}

  changeTenants(): void {}

  state(): Bodies {
    return new Map(this.#bodies);
  }

  #put(id: string, random: Random): void {
    const body = Buffer.alloc(random.below(BYTES_MAX), `${id}:${random.below(2 ** 32)} `);
    this.#parts.engine.put(this.#parts.journal, id, putFrame(id, body));
    this.#bodies.set(id, body);
  }
}

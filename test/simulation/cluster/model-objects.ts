/**
 * An object store in memory, and the connection of one node to it. Each call goes
 * in steps: it is sent, is carried out, and is answered, and each step may be lost.
 *
 * (1) What a call has stored, every later call finds: that is what S3 promises.
 * (2) A call whose end is unknown may be carried out long after it has failed, and
 *     one that was carried out may be carried out a second time.
 * (3) After its node is dead, calls under way may still be carried out.
 */
import type { ObjectStores, Objects } from "../../../src/cluster/objects/objects.ts";
import type { Random } from "../../../src/kernel/random.ts";

/** The objects of a store, by their names. */
export type StoredObjects = Map<string, Buffer>;

export interface ObjectLinkOptions {
  readonly objects: StoredObjects;
  readonly random: Random;
  /** One of this many calls goes wrong now; 0: none. */
  doubtOneIn(): number;
}

type Fate = "answered" | "lost request" | "late request" | "lost answer" | "doubled";

const FATES: readonly Fate[] = ["lost request", "late request", "lost answer", "doubled"];
/** Short, so that a snapshot takes several calls to read. */
const READ_BYTES_MAX = 400;
const PAGE = 3;

/** The calls on a store that answers at once. */
export function plainObjects(objects: StoredObjects): Objects {
  return {
    async putNew(name, { bytes, read }) {
      if (objects.has(name)) return "exists";
      const content = Buffer.from(await read(0, bytes));
      if (objects.has(name)) return "exists";
      objects.set(name, content);
      return "stored";
    },
    get: (name, { start, end }) =>
      Promise.resolve(objects.get(name)?.subarray(start, Math.min(end, start + READ_BYTES_MAX))),
    list(prefix, after = "") {
      const names = [...objects.keys()].filter((name) => name.startsWith(prefix) && name > after).sort();
      return Promise.resolve(names.slice(0, PAGE).map((name) => ({ name, bytes: objects.get(name)?.length ?? 0 })));
    },
    remove(names) {
      for (const name of names) objects.delete(name);
      return Promise.resolve();
    },
  };
}

export class ObjectLink implements ObjectStores {
  readonly counts = { stored: 0, removed: 0, failures: 0 };
  readonly #options: ObjectLinkOptions;
  readonly #plain: Objects;
  readonly #gates: (() => void)[] = [];
  #isDead = false;

  constructor(options: ObjectLinkOptions) {
    this.#options = options;
    this.#plain = plainObjects(options.objects);
  }

  open(): Promise<Objects> {
    const plain = this.#plain;
    return Promise.resolve({
      putNew: (name, content) =>
        this.#call(async () => {
          const outcome = await plain.putNew(name, content);
          if (outcome === "stored") this.counts.stored += 1;
          return outcome;
        }),
      get: (name, range) => this.#call(() => plain.get(name, range)),
      list: (prefix, after) => this.#call(() => plain.list(prefix, after)),
      remove: (names) =>
        this.#call(() => {
          this.counts.removed += names.length;
          return plain.remove(names);
        }),
    });
  }

  get underwayCount(): number {
    return this.#gates.length;
  }

  /** Lets one call go on. False if no call is under way. */
  step(random: Random): boolean {
    const [gate] = this.#gates.splice(random.below(this.#gates.length), 1);
    gate?.();
    return gate !== undefined;
  }

  /** The node is gone: its calls are not answered. keeps (3) */
  die(): void {
    this.#isDead = true;
  }

  #gate(): Promise<void> {
    return new Promise((resolve) => this.#gates.push(resolve));
  }

  async #call<Result>(run: () => Promise<Result>): Promise<Result> {
    const { random, doubtOneIn } = this.#options;
    if (this.#isDead) return new Promise(() => {});
    const isDoubtful = doubtOneIn() > 0 && random.below(doubtOneIn()) === 0;
    const fate = isDoubtful ? (FATES[random.below(FATES.length)] as Fate) : "answered";
    await this.#gate();
    if (this.#isDead && random.below(2) === 0) return new Promise(() => {});
    if (fate === "lost request") throw this.#failure();
    // keeps (2)
    const again = (): void =>
      void this.#gate()
        .then(run)
        .catch(() => undefined);
    if (fate === "late request") {
      again();
      throw this.#failure();
    }
    const result = await run();
    if (fate === "doubled") again();
    await this.#gate();
    if (this.#isDead) return new Promise(() => {});
    if (fate === "lost answer") throw this.#failure();
    return result;
  }

  #failure(): Error {
    this.counts.failures += 1;
    return new Error("The object store answered 503");
  }
}

/** For lives whose cluster has no object store. */
export const noObjects: ObjectStores = {
  open: () => Promise.reject(new Error("The cluster has no object store")),
};

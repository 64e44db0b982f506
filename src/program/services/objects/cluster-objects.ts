/** The object stores of a cluster: addresses are in PostgreSQL, and credentials in the environment of each node. */
import type { ObjectStores } from "../../../cluster/objects/objects.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { systemRandom } from "../../../kernel/random.ts";
import type { ObjectStore } from "../../../replication/objects/object-store.ts";
import { copyAddressOf } from "./copy-settings.ts";

/** Callers repeat their calls themselves, and say meanwhile why they wait. */
const PATIENCE_MS = 5_000;

export class ClusterObjects implements ObjectStores {
  readonly #access: "read" | "write";
  readonly #opened = new Map<string, Promise<ObjectStore>>();
  #isClosed = false;

  /** `read`: no rights to write are needed. */
  constructor(access: "read" | "write") {
    this.#access = access;
  }

  /** Rejects with an `ObjectStoreFailure` or `InvalidAddress`; the next call tries again. */
  open(address: string): Promise<ObjectStore> {
    if (this.#isClosed) return Promise.reject(new Error("The object stores are closed"));
    const known = this.#opened.get(address);
    if (known !== undefined) return known;
    const opening = this.#open(address);
    this.#opened.set(address, opening);
    opening.catch(() => this.#opened.delete(address)); // The caller receives the error.
    return opening;
  }

  /** Fails what is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const stores = await Promise.allSettled(this.#opened.values());
    for (const store of stores) if (store.status === "fulfilled") await store.value.close();
  }

  async #open(address: string): Promise<ObjectStore> {
    // Loaded here, because most clusters have no object store.
    const { openObjectStore } = await import("./open-store.ts");
    return openObjectStore(copyAddressOf(address, "the address of the object store"), {
      ...{ environment: process.env, clock: systemClock, random: systemRandom },
      ...{ access: this.#access, patienceMs: PATIENCE_MS },
    });
  }
}

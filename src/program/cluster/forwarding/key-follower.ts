/**
 * How a node follows the rotation of keys (`forwarding-keys.ts`), by what each poll
 * sees.
 *
 * (1) Its areas accept a key before the table of nodes says so, because others offer
 *     it then.
 * (2) One change is made at a time. One that fails is tried again at the next poll.
 * (3) A key that all others accept is accepted by those that start later, whatever
 *     the table says of them, so a node never goes back to the key before.
 */
import type { ClusterView } from "../../../cluster/log-store/log-store.ts";
import { faultFields, type Log } from "../../../kernel/log.ts";
import type { ClusterFacts, StoredKeys } from "../cluster-facts.ts";
import type { ForwardingKeys } from "../shard-plan.ts";
import { acceptedByOthers, firstKeys, forwardingKeys } from "./forwarding-keys.ts";

export interface KeyFollowerOptions {
  /** At the start of the node, whose areas have `firstKeys` of them. */
  readonly facts: Pick<ClusterFacts, "id" | "branch" | "shards" | "keys">;
  /** Reads the keys again. */
  read(): Promise<StoredKeys>;
  /** Resolves when all areas accept and offer these. */
  replace(keys: ForwardingKeys): Promise<void>;
  /** Writes to the table of nodes that this one accepts the key with this number. */
  note(life: string, keyNumber: number): Promise<void>;
  readonly log: Pick<Log, "info" | "warn">;
}

export class KeyFollower {
  readonly #options: KeyFollowerOptions;
  #keys: StoredKeys;
  #offered: string;
  /** The number of a key that all others have accepted. */
  #acceptedByOthers: number;
  /** The newest key that the table says this node accepts. */
  #notedNumber = 0;
  #isChanging = false;

  constructor(options: KeyFollowerOptions) {
    this.#options = options;
    this.#keys = options.facts.keys;
    this.#offered = firstKeys(options.facts).offered.name;
    this.#acceptedByOthers = options.facts.keys.number - 1;
  }

  /** The nodes as a poll has seen them; `own`: the life of this one. */
  saw(view: Pick<ClusterView, "nodes" | "keyNumber">, own: string): void {
    if (this.#isChanging) return; // keeps (2)
    this.#isChanging = true;
    this.#change(view, own)
      .catch((fault: unknown) => this.#options.log.warn("the keys of the cluster are not followed", faultFields(fault)))
      .finally(() => {
        this.#isChanging = false;
      });
  }

  async #change(view: Pick<ClusterView, "nodes" | "keyNumber">, own: string): Promise<void> {
    const { facts, read, replace, note, log } = this.#options;
    const known = this.#keys;
    const keys = view.keyNumber > known.number ? await read() : known;
    this.#acceptedByOthers = Math.max(this.#acceptedByOthers, acceptedByOthers(view, own)); // keeps (3)
    const next = forwardingKeys({ ...facts, keys }, { acceptedByOthers: this.#acceptedByOthers });
    if (keys.number !== known.number || next.offered.name !== this.#offered) {
      await replace(next);
      this.#keys = keys;
      this.#offered = next.offered.name;
      log.info("the keys of the cluster are followed", { newest: keys.number, offered: next.offered.name });
    }
    if (keys.number === this.#notedNumber) return;
    await note(own, keys.number); // keeps (1)
    this.#notedNumber = keys.number;
  }
}

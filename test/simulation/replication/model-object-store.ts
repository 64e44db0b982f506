/**
 * A store of objects in memory: read after write, and atomic calls, as the interface
 * promises.
 *
 * (1) A call under way takes effect at one moment, when the store is stepped, or
 *     never; a stepped store completes one call at each step.
 * (2) A call may fail before or after its effect: the caller cannot know.
 * (3) If lists lag, a list has the objects of an earlier moment, and `get` has the
 *     present ones.
 */
import type { Random } from "../../../src/kernel/random.ts";
import {
  type ListedObject,
  type ObjectContent,
  type ObjectStore,
  ObjectStoreFailure,
} from "../../../src/replication/objects/object-store.ts";

export type StoreCall = "putNew" | "get" | "list" | "remove";
/** What goes wrong: nothing, or a failure before or after the effect. */
export type StoreTrouble = "none" | "before" | "after";

const LIST_COUNT_MAX = 1_000;

export class ModelObjectStore {
  readonly objects = new Map<string, Buffer>();
  /** All names that were ever stored. */
  readonly everStored = new Set<string>();
  readonly calls: Record<StoreCall, number> = { putNew: 0, get: 0, list: 0, remove: 0 };
  listCountMax = LIST_COUNT_MAX;
  #lagging: readonly ListedObject[] | undefined;

  /** Lists have the objects of now until the next call, or the present ones again. keeps (3) */
  lag(isLagging: boolean): void {
    this.#lagging = isLagging ? this.#listing() : undefined;
  }

  /** The store as a client sees it that has no trouble. */
  client(trouble: (call: StoreCall) => Promise<StoreTrouble> = () => Promise.resolve("none")): ObjectStore {
    const attempt = async <Result>(call: StoreCall, effect: () => Result): Promise<Result> => {
      this.calls[call] += 1;
      const what = await trouble(call);
      if (what === "before") throw new ObjectStoreFailure("unavailable", `The model store refused ${call}`);
      const result = effect();
      if (what === "after") throw new ObjectStoreFailure("unavailable", `The model store lost its answer to ${call}`);
      return result;
    };
    return {
      putNew: async (name, content) => {
        const bytes = await bytesOf(content);
        return attempt("putNew", () => this.#put(name, bytes));
      },
      get: (name, { start, end }) =>
        attempt("get", () => {
          const found = this.objects.get(name);
          return found === undefined ? undefined : Buffer.from(found.subarray(start, end));
        }),
      list: (prefix, after = "") =>
        attempt("list", () =>
          (this.#lagging ?? this.#listing())
            .filter(({ name }) => name.startsWith(prefix) && name > after)
            .slice(0, this.listCountMax),
        ),
      remove: (names) =>
        attempt("remove", () => {
          for (const name of names) this.objects.delete(name);
        }),
      close: () => Promise.resolve(),
    };
  }

  #put(name: string, bytes: Buffer): "stored" | "exists" {
    if (this.objects.has(name)) return "exists";
    this.objects.set(name, bytes);
    this.everStored.add(name);
    return "stored";
  }

  #listing(): readonly ListedObject[] {
    return [...this.objects]
      .map(([name, bytes]) => ({ name, bytes: bytes.length }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

/** Calls that wait until they are stepped. keeps (1) */
export class SteppedCalls {
  readonly #waiting: ((trouble: StoreTrouble) => void)[] = [];

  get count(): number {
    return this.#waiting.length;
  }

  readonly trouble = (): Promise<StoreTrouble> => new Promise((resolve) => void this.#waiting.push(resolve));

  /** Completes one call. */
  step(random: Random, trouble: StoreTrouble): void {
    const [call] = this.#waiting.splice(random.below(this.#waiting.length), 1);
    call?.(trouble);
  }

  /** The client has died: calls under way have their effect, or never. */
  crash(random: Random): void {
    for (const call of this.#waiting.splice(0)) if (random.below(2) === 0) call("after");
  }
}

async function bytesOf(content: ObjectContent): Promise<Buffer> {
  return content.bytes === 0 ? Buffer.alloc(0) : Buffer.from(await content.read(0, content.bytes));
}

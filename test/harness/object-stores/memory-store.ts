/**
 * The model of an object store: objects in memory. In its late mode a read may miss a recent write or removal, as some
 * stores do, until `catchUp`; a name is still refused at once if it is taken.
 */
import type { Random } from "../../../src/kernel/random.ts";
import { assertObjectName, OBJECTS_PER_CALL_MAX } from "../../../src/replication/objects/object-name.ts";
import type { ListedObject, ObjectContent, ObjectStore } from "../../../src/replication/objects/object-store.ts";

export class MemoryStore implements ObjectStore {
  readonly #objects = new Map<string, Buffer>();
  /** What readers may see in place of `#objects`. */
  #seen = new Map<string, Buffer>();
  readonly #lateness: Random | undefined;

  /** With a random source, each read draws whether it misses what changed since `catchUp`. */
  constructor(lateness?: Random) {
    this.#lateness = lateness;
  }

  /** From now on every read sees all changes until now. */
  catchUp(): void {
    this.#seen = new Map(this.#objects);
  }

  get objects(): ReadonlyMap<string, Buffer> {
    return this.#objects;
  }

  async putNew(name: string, content: ObjectContent): Promise<"stored" | "exists"> {
    assertObjectName(name);
    const bytes = Buffer.from(await content.read(0, content.bytes));
    if (this.#objects.has(name)) return "exists";
    this.#objects.set(name, bytes);
    return "stored";
  }

  async get(
    name: string,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined> {
    assertObjectName(name);
    const bytes = this.#view().get(name);
    return bytes === undefined ? undefined : Buffer.from(bytes.subarray(start, end));
  }

  async list(prefix: string, after = ""): Promise<readonly ListedObject[]> {
    return [...this.#view()]
      .filter(([name]) => name.startsWith(prefix) && name > after)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .slice(0, OBJECTS_PER_CALL_MAX)
      .map(([name, { length }]) => ({ name, bytes: length }));
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      assertObjectName(name);
      this.#objects.delete(name);
    }
  }

  async close(): Promise<void> {}

  #view(): ReadonlyMap<string, Buffer> {
    return this.#lateness !== undefined && this.#lateness.below(2) === 0 ? this.#seen : this.#objects;
  }
}

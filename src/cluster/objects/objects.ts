/** What a cluster needs of an object store, such as those of `replication/objects/`, and how its calls fail. */

/** The bytes of a new object. */
export interface NewObject {
  readonly bytes: number;
  /** The SHA-256 of all bytes in hexadecimal digits. */
  readonly sha256: string;
  /** Reads the bytes from `start` (included) to `end` (excluded), into `into` if that is given. */
  read(start: number, end: number, into?: Buffer): Promise<Buffer>;
}

export interface Objects {
  /** Stores a new object; `exists`: the name was taken, and nothing was changed. */
  putNew(name: string, content: NewObject): Promise<"stored" | "exists">;
  /** Some bytes of an object, fewer at its end; undefined if there is no such object. */
  get(name: string, range: { readonly start: number; readonly end: number }): Promise<Buffer | undefined>;
  /** The next objects in the order of their names: those that begin with `prefix` and come after `after`. */
  list(prefix: string, after?: string): Promise<readonly { readonly name: string; readonly bytes: number }[]>;
  /** Removes objects that exist. */
  remove(names: readonly string[]): Promise<void>;
}

/** The stores of a cluster, by their addresses. */
export interface ObjectStores {
  /** The store at an address, which is opened once. Rejects while it cannot be opened. */
  open(address: string): Promise<Objects>;
}

/** The object store does not answer, refuses a call, or does not have what it has confirmed. A later call may succeed. */
export class ObjectTrouble extends Error {
  override name = "ObjectTrouble";
}

/** Runs a call of a store. Rejects with `ObjectTrouble` in place of its error. */
export async function askObjects<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (fault) {
    if (fault instanceof ObjectTrouble) throw fault;
    throw new ObjectTrouble(fault instanceof Error ? fault.message : String(fault), { cause: fault });
  }
}

/** Reads the objects of a copy, and compares each with the checksum in its name. */
import { createHash } from "node:crypto";
import { DamagedCopy } from "./errors.ts";
import { parseObjectName, SUM_DIGITS } from "./names.ts";
import type { ListedObject, ObjectStore } from "./objects/object-store.ts";

/** Bytes of one request. */
const RANGE_BYTES = 8 * 1024 * 1024;

/**
 * Passes on the bytes of an object, in order. Rejects with `DamagedCopy`, perhaps after some of the bytes, as the store does, or
 * as `take`.
 */
export async function fetchObject(
  store: ObjectStore,
  { name, bytes }: ListedObject,
  take: (part: Buffer, offset: number) => Promise<void> | void,
): Promise<void> {
  const hash = createHash("sha256");
  for (let offset = 0; offset < bytes; ) {
    const part = await store.get(name, { start: offset, end: Math.min(bytes, offset + RANGE_BYTES) });
    if (part === undefined) throw new DamagedCopy(name, "it is missing");
    if (part.length === 0) throw new DamagedCopy(name, `it ends at byte ${offset} of ${bytes}`);
    hash.update(part);
    await take(part, offset);
    offset += part.length;
  }
  const parsed = parseObjectName(name)?.name;
  const sum = hash.digest("hex").slice(0, SUM_DIGITS);
  if (parsed === undefined || !("sum" in parsed) || parsed.sum !== sum)
    throw new DamagedCopy(name, "its bytes are not those that were copied");
}

/** Works on the items, a few at a time, in their order. Rejects with the first error, when no work is under way. */
export async function inParallel<Item>(
  items: readonly Item[],
  count: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  let isFailed = false;
  const run = async (): Promise<void> => {
    while (next < items.length && !isFailed) {
      const item = items[next++] as Item;
      try {
        await work(item);
      } catch (error) {
        isFailed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: count }, run));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

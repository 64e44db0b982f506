/**
 * The memory of this process when nothing is left to be freed, for programs that
 * measure the growth of what they fill. They run with `settledFlags`.
 *
 * One collection is not enough. A buffer is freed after the collection that finds
 * it unused. A function that another thread compiles keeps its objects until the
 * compilation ends, which takes long on a busy machine: what an earlier measurement
 * filled would then be freed between the two readings of the next one.
 */
import { nextTurn } from "../../src/kernel/turn.ts";

/** V8 compiles and collects in the thread that runs the program, so that neither is under way at a reading. */
export const settledFlags = ["--expose-gc", "--single-threaded"] as const;

/** Readings that agree with the last one, itself among them. */
const AGREEING_COUNT = 3;
/** Readings that differ by less agree: the objects of a reading itself. */
const AGREEING_BYTES = 4_096;
/** A process whose readings still differ after so many collections does not settle. */
const COLLECTIONS_MAX = 50;

/**
 * Collects garbage until readings agree and none of `dropped` is there any more. Resolves with the last reading, in
 * bytes. Rejects if that does not come to an end.
 */
export async function settledBytes(read: () => number, dropped: readonly WeakRef<object>[] = []): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("a program that measures memory runs with --expose-gc");
  let agreeing: number[] = [];
  for (let collections = 0; collections < COLLECTIONS_MAX; collections += 1) {
    gc();
    await nextTurn();
    const bytes = read();
    agreeing = [...agreeing.filter((each) => Math.abs(each - bytes) < AGREEING_BYTES), bytes];
    if (agreeing.length >= AGREEING_COUNT && dropped.every((each) => each.deref() === undefined)) return bytes;
  }
  throw new Error(`the memory of the process does not settle: ${agreeing.join(", ")}`);
}

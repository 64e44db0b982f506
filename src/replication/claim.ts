/**
 * The claim of a generation. The store decides: `putNew` gives a name to one server
 * only, so no two servers have the same generation, even if lists lag. A server
 * whose answer was lost takes the next number; the lost one never begins.
 */

import { readGenerations } from "./copy-view.ts";
import { ForeignCopy } from "./errors.ts";
import { ownerName } from "./names.ts";
import { type OwnerNote, parseOwner, printNote, readNote } from "./notes.ts";
import { contentOf, type ObjectStore } from "./objects/object-store.ts";
import type { RepeatedCalls } from "./repeated-calls.ts";

export interface ClaimOptions {
  readonly store: ObjectStore;
  readonly calls: RepeatedCalls;
  readonly facts: Omit<OwnerNote, "generation">;
}

/** Returns the new generation. Rejects with `ForeignCopy` if the copy is that of another data directory. */
export async function claimGeneration({ store, calls, facts }: ClaimOptions): Promise<number> {
  let newest = (await calls.repeat(() => readGenerations(store))).at(-1) ?? 0;
  for (;;) {
    if (newest > 0) await assertOwn(newest, { store, calls, facts });
    const generation = newest + 1;
    const note = printNote({ ...facts, generation });
    let isRepeated = false;
    const answer = await calls.repeat(async () => {
      const wasTried = isRepeated;
      isRepeated = true;
      const stored = await store.putNew(ownerName(generation), contentOf(note));
      return wasTried ? "exists" : stored;
    });
    if (answer === "stored") return generation;
    newest = generation;
  }
}

async function assertOwn(generation: number, { store, calls, facts }: ClaimOptions): Promise<void> {
  const owner = await calls.repeat(() => readNote(store, ownerName(generation), parseOwner));
  if (owner !== undefined && owner.directory !== facts.directory)
    throw new ForeignCopy(owner.directory, facts.directory);
}

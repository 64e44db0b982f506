/** Bugs of a copier that the simulation of copies must find. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectStore } from "../../../src/replication/objects/object-store.ts";
import type { CopyBug } from "./copy-life.ts";
import { runCopyLives } from "./copy-runs.ts";
import type { ModelArea } from "./model-area.ts";
import type { ModelObjectStore } from "./model-object-store.ts";

/** Lives after which a bug must be found. */
const LIVES_MAX = 2_000;

const removesBeforeCovered: CopyBug = {
  store: (store, model) => ({
    ...store,
    async putNew(name, content) {
      const stored = await store.putNew(name, content);
      const [, segment] = /\/times\/(.+)$/.exec(name) ?? [];
      if (segment !== undefined)
        for (const part of [...model.objects.keys()])
          if (part.includes(`/part/${segment}/`)) model.objects.delete(part);
      return stored;
    },
  }),
};

function losesParts(store: ObjectStore): ObjectStore {
  let count = 0;
  return {
    ...store,
    putNew(name, content) {
      count += name.includes("/part/") ? 1 : 0;
      return name.includes("/part/") && count % 10 === 0 ? Promise.resolve("stored") : store.putNew(name, content);
    },
  };
}

/** It sees no newer generation. */
function goesOn(store: ObjectStore): ObjectStore {
  return {
    ...store,
    list: (prefix, after) =>
      after !== undefined && prefix === "owners/" ? Promise.resolve([]) : store.list(prefix, after),
  };
}

/** It takes the snapshots of the generation with the objects that no restore needs. */
function removesSnapshots(store: ObjectStore, model: ModelObjectStore): ObjectStore {
  return {
    ...store,
    async remove(names) {
      const snapshots = [...model.objects.keys()].filter((name) => name.includes("/snapshot/"));
      await store.remove([...names, ...snapshots.slice(-1)]);
    },
  };
}

function written({ storage: { journal } }: ModelArea): ReturnType<NonNullable<CopyBug["locate"]>> {
  return { segment: journal.segmentNumber, offset: journal.segmentBytes, position: journal.written };
}

/** With a seed whose run finds it soon. */
const bugs: readonly (readonly [string, CopyBug, number])[] = [
  ["removes parts before the closed segment is stored", removesBeforeCovered, 1],
  ["loses a part", { store: losesParts }, 1],
  ["removes a snapshot that is needed", { store: removesSnapshots }, 65],
  ["goes on as an old generation, and removes what a newer one needs", { store: goesOn }, 250],
  ["copies bytes that are not synced", { locate: written }, 1],
];

for (const [what, bug, seed] of bugs) {
  test(`finds a copier that ${what}`, async (context) => {
    const { violation, lives } = await runCopyLives({ seed, allowance: { count: LIVES_MAX }, bug });
    assert.ok(violation !== undefined, `not found in ${LIVES_MAX} lives`);
    context.diagnostic(`found in ${lives} lives, with the seed ${violation.seed}: ${violation.error.message}`);
  });
}

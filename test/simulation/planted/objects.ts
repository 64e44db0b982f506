/** Bugs of a node whose snapshots are in an object store. */
import type { SnapshotPointer } from "../../../src/cluster/log-store/log-store.ts";
import type { ObjectStores, Objects } from "../../../src/cluster/objects/objects.ts";
import { parseSnapshotName } from "../../../src/cluster/objects/snapshot-object.ts";
import type { ClusterWorld } from "../cluster/cluster-world.ts";
import type { ShippedBug } from "../cluster/shard-life.ts";
import { runShippedLives } from "../cluster/shipped-runs.ts";
import { storeSubject } from "../store/store-subject.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

function changed(stores: ObjectStores, calls: (objects: Objects) => Partial<Objects>): ObjectStores {
  return {
    async open(address) {
      const objects = await stores.open(address);
      return { ...objects, ...calls(objects) };
    },
  };
}

/** The object is on its way when its pointer is written. */
function pointsBeforeObject(stores: ObjectStores): ObjectStores {
  const sent = new Map<string, number>();
  return changed(stores, (objects) => ({
    async putNew(name, content) {
      const bytes = await content.read(0, content.bytes);
      sent.set(name, content.bytes);
      void objects.putNew(name, { ...content, read: async (start, end) => bytes.subarray(start, end) }).catch(() => {});
      return "stored";
    },
    list: async (prefix, after) => {
      const bytes = sent.get(prefix);
      return bytes === undefined ? objects.list(prefix, after) : [{ name: prefix, bytes }];
    },
  }));
}

/** A sweep that takes everything but the last name, as if names were in the order of snapshots. */
function keepsLastName(stores: ObjectStores, { objects: all }: ClusterWorld): ObjectStores {
  return changed(stores, (objects) => ({
    remove: () => objects.remove([...all.keys()].sort().slice(0, -1)),
  }));
}

/** Without the object of the pointer, as after a call that was not answered, the one before must do. */
function startsFromOlder(latest: SnapshotPointer | undefined, { objects }: ClusterWorld): SnapshotPointer | undefined {
  if (latest?.object === undefined) return latest;
  const { address } = latest.object;
  const older = [...objects].flatMap(([name, bytes]): SnapshotPointer[] => {
    const { epoch = 0, number = 0 } = parseSnapshotName(name) ?? {};
    return number < latest.number ? [{ epoch, number, parts: 0, bytes: bytes.length, object: { address, name } }] : [];
  });
  return older.at(-1) ?? latest;
}

export const objectBugs: PlantedBugs<ShippedBug> = {
  simulation: "a shard whose snapshots are objects",
  run: async (seed, bug) => {
    const options = { subject: storeSubject, seed, allowance: { count: 1 }, bug, hasStandbys: true, hasObjects: true };
    return textOf((await runShippedLives(options)).violation);
  },
  runsMax: 150,
  control: { bug: {}, runs: 40 },
  bugs: [
    {
      name: "the pointer of a snapshot is committed before its object is there",
      breaks: "src/cluster/objects/snapshot-object.ts",
      bug: { objects: pointsBeforeObject },
      seed: 5,
      found: /The object \S+ has 0 of \d+ bytes/,
    },
    {
      name: "a sweep removes the object that a pointer names",
      breaks: "src/cluster/objects/object-sweep.ts",
      bug: { objects: keepsLastName },
      seed: 42,
      found: /The object \S+ has 0 of \d+ bytes|is damaged in the object store/,
    },
    {
      name: "a takeover begins with an older object",
      breaks: "src/cluster/shipped/fetch.ts",
      bug: { snapshot: startsFromOlder },
      seed: 19,
      found: /is damaged in PostgreSQL: segment \d+ is missing/,
    },
  ],
};

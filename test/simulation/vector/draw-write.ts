/**
 * Writes that certainly change what an index holds: the random programs aim at
 * any id and any namespace, of which few exist.
 */
import type { Random } from "../../../src/kernel/random.ts";
import type { Call } from "./programs/command.ts";
import type { PlainIndex } from "./programs/plain-index.ts";

const DEFAULT_NAMESPACE = "";
const IDS_MAX = 3;

/** A write to existing namespaces or records; undefined if none fits. */
export function drawEffectiveWrite(index: PlainIndex, random: Random): Call | undefined {
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[random.below(Math.max(1, items.length))];
  const names = index.namespaceNames();
  const made = names.filter((name) => name !== DEFAULT_NAMESPACE);
  const namespace = pick(names) ?? DEFAULT_NAMESPACE;
  const ids = index.recordsOf(namespace).map(({ id }) => id);
  const renamed = pick(made);
  switch (random.below(10)) {
    case 0:
      return { kind: "reset", namespace: renamed ?? namespace };
    case 1:
      return renamed === undefined ? undefined : { kind: "delete namespace", namespace: renamed };
    case 2:
    case 3: {
      const newName = random.below(2) === 0 ? `${renamed}+` : pick(made.filter((name) => name !== renamed));
      if (renamed === undefined || newName === undefined) return undefined;
      return { kind: "rename namespace", namespace: renamed, newName, deletesExisting: true };
    }
    case 4: {
      const id = pick(ids);
      if (id === undefined) return undefined;
      return { kind: "delete", namespace, selection: { kind: "prefix", prefix: id.slice(0, 2) } };
    }
    case 5:
      return { kind: "delete", namespace, selection: { kind: "filter", filter: `n < ${random.below(10)}` } };
    case 6: {
      const id = pick(ids);
      if (id === undefined) return undefined;
      return { kind: "update", namespace, change: { id, data: `changed ${id}`, metadataUpdateMode: "OVERWRITE" } };
    }
    default: {
      const chosen = Array.from({ length: 1 + random.below(IDS_MAX) }, () => pick(ids)).filter(
        (id) => id !== undefined,
      );
      return chosen.length === 0 ? undefined : { kind: "delete", namespace, selection: { kind: "ids", ids: chosen } };
    }
  }
}

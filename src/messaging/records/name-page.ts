/** A part of a list of named things, in the order of their names (UTF-16 code units), as no order of names is kept. */

export interface NamePage {
  /** At most so many. */
  readonly count: number;
  /** Only names after this one, which need not exist any more. */
  readonly cursor?: string | undefined;
  /** Only names that begin with this. */
  readonly prefix?: string | undefined;
  /** Only names that contain this. */
  readonly search?: string | undefined;
}

/** Looks at each name once, and keeps no more than the page. */
export function namesOfPage(names: Iterable<string>, { count, cursor, prefix = "", search = "" }: NamePage): string[] {
  const kept: string[] = [];
  for (const name of names) {
    if (cursor !== undefined && name <= cursor) continue;
    const last = kept[count - 1];
    if (last !== undefined && name > last) continue;
    if (!name.startsWith(prefix) || !name.includes(search)) continue;
    kept.splice(placeOf(kept, name), 0, name);
    if (kept.length > count) kept.pop();
  }
  return kept;
}

/** The values of a page. */
export function valuesOfPage<Value>(values: ReadonlyMap<string, Value>, page: NamePage): Value[] {
  return namesOfPage(values.keys(), page).flatMap((name) => values.get(name) ?? []);
}

function placeOf(sorted: readonly string[], name: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? "") < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

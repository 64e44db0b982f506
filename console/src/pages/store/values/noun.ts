import { countText } from "../../../parts/format.ts";

/** 1 entry, 1,234 entries: `plural` is entries. */
export function countNoun(count: number, plural: string): string {
  return `${countText(count)} ${count === 1 ? plural.replace(/ies$/, "y").replace(/s$/, "") : plural}`;
}

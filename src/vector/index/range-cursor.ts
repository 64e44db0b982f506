/**
 * Cursors of a range (B1.cursor), as text:
 *
 *     "12"        an offset: this many records of the namespace are skipped
 *     "p1.0.12"   the place 12 in the namespace 0 of the index 1: what we return
 *
 * An offset means another record as soon as an earlier one is deleted. A place
 * stays the same while other clients upsert and delete, and after a restart: the
 * next page has exactly the records after the last one of the previous page. No
 * number begins with `p`, so the two forms differ.
 */

/** Numbers of indexes and namespaces are assigned only once. */
export interface PlaceCursor {
  readonly index: number;
  readonly namespace: number;
  readonly place: number;
}

/** A number is an offset. */
export type RangeCursor = number | PlaceCursor;

const OFFSET = /^[0-9]{0,15}$/;
const PLACE = /^p([0-9]{1,15})\.([0-9]{1,15})\.([0-9]{1,15})$/;

/** Undefined for an invalid cursor. An empty text is the start. */
export function parseRangeCursor(text: string): RangeCursor | undefined {
  if (OFFSET.test(text)) return Number(text);
  const parts = PLACE.exec(text);
  if (parts === null) return undefined;
  return { index: Number(parts[1]), namespace: Number(parts[2]), place: Number(parts[3]) };
}

export function printRangeCursor({ index, namespace, place }: PlaceCursor): string {
  return `p${index}.${namespace}.${place}`;
}

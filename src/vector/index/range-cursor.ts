/**
 * Cursors of a range (B1.cursor), as text:
 *
 *     "12"        an offset: so many records of the namespace are passed over
 *     "p1.0.12"   the place 12 in the namespace 0 of the index 1: what we return
 *
 * An offset means another record as soon as one before it is deleted. A place
 * stays the same while others upsert and delete, and after a restart: the page
 * has every record that came after the last of the page before, and no other.
 * No number begins with `p`, so the two are told apart.
 */

/** Numbers of an index and of a namespace are given out once. */
export interface PlaceCursor {
  readonly index: number;
  readonly namespace: number;
  readonly place: number;
}

/** A number is an offset. */
export type RangeCursor = number | PlaceCursor;

const OFFSET = /^[0-9]{0,15}$/;
const PLACE = /^p([0-9]{1,15})\.([0-9]{1,15})\.([0-9]{1,15})$/;

/** Undefined for what is neither. An empty text is the start. */
export function parseRangeCursor(text: string): RangeCursor | undefined {
  if (OFFSET.test(text)) return Number(text);
  const parts = PLACE.exec(text);
  if (parts === null) return undefined;
  return { index: Number(parts[1]), namespace: Number(parts[2]), place: Number(parts[3]) };
}

export function printRangeCursor({ index, namespace, place }: PlaceCursor): string {
  return `p${index}.${namespace}.${place}`;
}

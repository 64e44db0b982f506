/**
 * Names of objects: printable ASCII in segments that `/` separates. Their order is that of their bytes, which `<` of
 * strings has too. Segments `.` and `..` are excluded, because URLs remove them.
 */
import { assert } from "../../kernel/assert.ts";

/** A key of S3 has at most 1,024 bytes, with the prefix of the copy. */
export const NAME_BYTES_MAX = 512;

/** At most so many objects are listed or removed by one call. */
export const OBJECTS_PER_CALL_MAX = 1_000;

/** Whether a text can be the name of an object. */
export function isObjectName(text: string): boolean {
  return (
    text.length <= NAME_BYTES_MAX &&
    /^[\x20-\x7e]+$/.test(text) &&
    text.split("/").every((each) => !/^\.{0,2}$/.test(each))
  );
}

/** Names that are not valid are a mistake of larder: they are never made from text of users. */
export function assertObjectName(name: string): void {
  assert(isObjectName(name), "the name of an object is valid");
}

/** The same for a range of bytes of an object. */
export function assertObjectRange(
  name: string,
  { start, end }: { readonly start: number; readonly end: number },
): void {
  assertObjectName(name);
  assert(start >= 0 && start <= end, "the range of an object is valid");
}

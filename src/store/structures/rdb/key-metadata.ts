/**
 * Metadata that modules of Redis 8.6 and later attach to a key. It comes before the type of the value.
 *
 *     | f3 | classes: count, (class u32, part …, 0) … |
 *     part     | 1 or 2, number | 3, float | 4, double | 5, string |       as in values of modules
 *
 * larder has no modules. It drops metadata that its module allows to ignore, as Redis does without the module, and
 * refuses other metadata.
 */
import { badDataFormat, metadataRefused } from "../../errors.ts";
import { type MetadataClass, metadataClass } from "./module-names.ts";
import type { PayloadReader } from "./payload-reader.ts";

export const KEY_METADATA = 0xf3;
/** Redis has at most so many classes. */
export const METADATA_CLASSES_MAX = 7;

/** Skips the metadata after the byte f3. Throws `badDataFormat` or `metadataRefused`. */
export function skipKeyMetadata(reader: PayloadReader): void {
  const count = reader.length();
  if (count === 0 || count > METADATA_CLASSES_MAX) throw badDataFormat;
  const classes: MetadataClass[] = [];
  for (let left = count; left > 0; left -= 1) {
    classes.push(metadataClass(reader.number32()));
    skipParts(reader);
  }
  const refused = classes.find(({ isIgnorable }) => !isIgnorable);
  if (refused !== undefined) throw metadataRefused(refused.name);
}

function skipParts(reader: PayloadReader): void {
  for (;;) {
    switch (reader.length()) {
      case 0:
        return;
      case 1:
      case 2:
        reader.wholeLength();
        break;
      case 3:
        reader.raw(4);
        break;
      case 4:
        reader.raw(8);
        break;
      case 5:
        reader.string();
        break;
      default:
        throw badDataFormat;
    }
  }
}

/** The families whose commands are compared with a real redis-server by random programs. */

import { bitmapFamily } from "./families/bitmap.ts";
import { dumpFamily } from "./families/dump.ts";
import { genericFamily } from "./families/generic.ts";
import { geoFamily } from "./families/geo.ts";
import { hashFamily } from "./families/hash.ts";
import { hyperLogLogFamily } from "./families/hyperloglog.ts";
import { listFamily } from "./families/list.ts";
import { scriptingFamily } from "./families/scripting.ts";
import { serverFamily } from "./families/server.ts";
import { setFamily } from "./families/set.ts";
import { numericSortFamily, sortFamily } from "./families/sort.ts";
import { sortedSetFamily, sortedSetLexFamily } from "./families/sorted-set.ts";
import { streamFamily } from "./families/stream.ts";
import { stringFamily } from "./families/string.ts";
import type { Family } from "./programs.ts";

/** Two lists of about the same weight. */
export const byteStringFamilies: readonly Family[] = [stringFamily, bitmapFamily, hyperLogLogFamily, dumpFamily];

export const collectionFamilies: readonly Family[] = [
  hashFamily,
  listFamily,
  setFamily,
  sortedSetFamily,
  sortedSetLexFamily,
  streamFamily,
  geoFamily,
  genericFamily,
  sortFamily,
  numericSortFamily,
  serverFamily,
];

export const families: readonly Family[] = [...byteStringFamilies, ...collectionFamilies, scriptingFamily];

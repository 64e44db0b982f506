/**
 * Numbers and their JSON text, in bytes of this module's own memory:
 *
 *     0             | nothing                                                         |
 *     RESULTS       | five words of results besides the returned one                  |
 *     STACK         | the open levels while a value is checked, a byte for each       |
 *     SCALES        | 10^-31 … 10^45 as their highest 64 bits, for printing           | by the host
 *     POWERS        | 10^0 … 10^64 as float64, for reading                            | by the host
 *     WHOLE_POWERS  | 10^0 … 10^16, u64 each                                          | by the host
 *     VALUES        | a list of float32 or int32, at most VALUES_MAX                  |
 *     TEXT          | the printed text of at most PRINT_MAX float32                   |
 *     FINITE_SCALES | a row for each exponent of a finite float32, for printing       | by the host
 *     DOCUMENT      | one JSON document, and DOCUMENT_SLACK zeros after it            |
 *
 * (1) A zero byte is never part of JSON's grammar, so the zeros after the
 *     document stop every loop; blocks may be loaded across its end.
 * (2) Calls share no state except this memory.
 * (3) The document is valid UTF-8: the host has checked it, and nothing here
 *     checks it again.
 */
export { checkValue } from "./float-text-check";
export {
  DOCUMENT,
  DOCUMENT_SLACK,
  FINITE_SCALES,
  POWERS,
  PRINT_MAX,
  RESULTS,
  SCALES,
  TEXT,
  VALUES,
  VALUES_MAX,
  WHOLE_POWERS,
} from "./float-text-memory";
export { printFloats } from "./float-text-print";
export { readFloats, readWholeNumbers } from "./float-text-read";

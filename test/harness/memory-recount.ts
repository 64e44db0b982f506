/** The memory of a keyspace counted again, value by value and key by key, compared with its running totals. */
import { memoryBytesOf } from "../../src/kernel/bytes.ts";
import type { Keyspace } from "../../src/store/keyspace.ts";
import { JsonValue } from "../../src/store/values/json.ts";
import { type Value, valueBytesOf } from "../../src/store/values/table.ts";

/** The error in the running totals, or undefined. */
export function memoryFault({ entries, meter }: Keyspace): string | undefined {
  let valueBytes = 0;
  let keyBytes = 0;
  for (const [key, value] of entries.entries()) {
    valueBytes += recountedBytesOf(value);
    keyBytes += memoryBytesOf(key);
  }
  if (meter.totalBytes !== valueBytes)
    return `the total of values is ${meter.totalBytes} bytes, their sum is ${valueBytes}`;
  return entries.keyBytes === keyBytes
    ? undefined
    : `the total of keys is ${entries.keyBytes} bytes, their sum is ${keyBytes}`;
}

/** A document has its own running total, which is also counted again. */
function recountedBytesOf(value: Value): number {
  return valueBytesOf(value instanceof JsonValue ? new JsonValue(value.root) : value);
}

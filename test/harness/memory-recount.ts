/** The memory of a keyspace counted anew, value by value and key by key, beside what it says in passing. */
import { memoryBytesOf } from "../../src/kernel/bytes.ts";
import type { Keyspace } from "../../src/store/keyspace.ts";
import { JsonValue } from "../../src/store/values/json.ts";
import { type Value, valueBytesOf } from "../../src/store/values/table.ts";

/** What is wrong with the running totals, or undefined. */
export function memoryFault({ entries, meter }: Keyspace): string | undefined {
  let valueBytes = 0;
  let keyBytes = 0;
  for (const [key, value] of entries.entries()) {
    valueBytes += recountedBytesOf(value);
    keyBytes += memoryBytesOf(key);
  }
  if (meter.totalBytes !== valueBytes)
    return `values are said to take ${meter.totalBytes} bytes and take ${valueBytes}`;
  return entries.keyBytes === keyBytes
    ? undefined
    : `keys are said to take ${entries.keyBytes} bytes and take ${keyBytes}`;
}

/** A document keeps a running total of its own, which is counted anew too. */
function recountedBytesOf(value: Value): number {
  return valueBytesOf(value instanceof JsonValue ? new JsonValue(value.root) : value);
}

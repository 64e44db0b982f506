/**
 * The whole contents of a store as one text, equal for two stores exactly if
 * they hold the same, in whatever order their tables were filled. Reading
 * changes nothing: an expired key that still exists is in the text.
 */
import { FrameWriter } from "../../../src/kernel/frame.ts";
import { mutations, stateMutations } from "../../../src/store/mutations/table.ts";
import { describeValue } from "../../../src/store/mutations/whole-value.ts";
import type { Store } from "../../../src/store/store.ts";

/** The order of the documents of an index is known while it serves, and recorded before snapshots only. */
const ORDER = mutations.find(({ name }) => name === "put-search-order")?.code;

/** One line for each record that would rebuild the store, in an order of its own. */
export function stateOf(store: Store): string {
  const lines: string[] = [];
  const writer = new FrameWriter();
  for (const database of store.databases) {
    const { name, number, keyspace } = database;
    const { entries, expiries, fieldExpiryKeys } = keyspace;
    lines.push(`${number} database ${name} with ${entries.size} keys`);
    const line = (bytes: Uint8Array): void => {
      lines.push(`${number} ${Buffer.from(bytes).toString("latin1")}`);
    };
    // A record is complete when the next one begins, so each is read then.
    const record = (code: number): FrameWriter => {
      if (!writer.isEmpty) line(writer.take());
      return (code === ORDER ? new FrameWriter() : writer).record(number, code);
    };
    for (const { describe } of stateMutations) describe?.(database, record);
    for (let slot = 0; slot < entries.size; slot += 1) {
      describeValue({ key: entries.keyAt(slot), value: entries.valueAt(slot), record });
    }
    if (!writer.isEmpty) line(writer.take());
    for (let slot = 0; slot < expiries.size; slot += 1) {
      lines.push(`${number} ${expiries.keyAt(slot)} expires at ${expiries.valueAt(slot)}`);
    }
    for (let slot = 0; slot < fieldExpiryKeys.size; slot += 1) {
      lines.push(`${number} ${fieldExpiryKeys.keyAt(slot)} has fields that expire`);
    }
  }
  return lines.sort().join("\n");
}

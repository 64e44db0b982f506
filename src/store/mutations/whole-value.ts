/** Whole values as records: those of a snapshot, and those of an imported value. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace } from "../keyspace.ts";
import { HashValue } from "../values/hash.ts";
import { JsonValue } from "../values/json.ts";
import { ListValue } from "../values/list.ts";
import { SearchDefinition } from "../values/search-definition.ts";
import { SetValue } from "../values/set.ts";
import { SortedSetValue } from "../values/sorted-set.ts";
import { StreamValue } from "../values/stream.ts";
import { isString } from "../values/string.ts";
import type { Value } from "../values/table.ts";
import { applyWhole, describeExpiry, describeRemoval } from "./generic.ts";
import { describeHash } from "./hash.ts";
import { describeJson } from "./json.ts";
import { describeList } from "./list.ts";
import type { Description } from "./mutation.ts";
import { describeSet } from "./set.ts";
import { describeSortedSet } from "./sorted-set.ts";
import { describeDefinition } from "./state/search-indexes.ts";
import { describeStream } from "./stream-group.ts";
import { describeString } from "./string.ts";

/**
 * Puts a value that was created elsewhere at a key, and overwrites it, with the expiry `atMs` if given. It is recorded
 * as in a snapshot. It must not be empty, and the keyspace owns it from now on.
 */
export function putWhole(keyspace: Keyspace, key: Bytes, whole: { value: Value; atMs: number | undefined }): void {
  keyspace.willChange(key);
  const record = (code: number): FrameWriter => keyspace.record(code);
  if (keyspace.entries.has(key)) describeRemoval(record, key);
  describeValue({ key, value: whole.value, record });
  if (whole.atMs !== undefined) describeExpiry(record, key, whole.atMs);
  applyWhole(keyspace, key, whole);
}

/** Writes the records that rebuild the value at its key. */
export function describeValue({ key, value, record }: Description<Value>): void {
  if (isString(value)) describeString({ key, value, record });
  else if (value instanceof HashValue) describeHash({ key, value, record });
  else if (value instanceof ListValue) describeList({ key, value, record });
  else if (value instanceof SetValue) describeSet({ key, value, record });
  else if (value instanceof SortedSetValue) describeSortedSet({ key, value, record });
  else if (value instanceof JsonValue) describeJson({ key, value, record });
  else if (value instanceof StreamValue) describeStream({ key, value, record });
  else if (value instanceof SearchDefinition) describeDefinition({ key, value, record });
  else {
    const never: never = value;
    throw new Error(`a value without records: ${String(never)}`);
  }
}

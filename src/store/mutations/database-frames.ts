/** The whole state of a database as frames that rebuild it. */
import type { FrameWriter } from "../../kernel/frame.ts";
import type { DatabaseState } from "./database-state.ts";
import { describeExpiry } from "./generic.ts";
import { stateMutations } from "./table.ts";
import { describeValue } from "./whole-value.ts";

/** A frame of a snapshot ends at the first record boundary after this many bytes. */
const SNAPSHOT_FRAME_BYTES = 256 * 1024;

/** Appends to what the frame holds already. A frame is valid until the next one is requested. */
export function* framesOfDatabase(
  database: DatabaseState & { readonly number: number },
  frame: FrameWriter,
): Generator<Uint8Array> {
  const { entries, expiries } = database.keyspace;
  const full: Uint8Array[] = [];
  const record = (code: number): FrameWriter => {
    if (frame.byteCount >= SNAPSHOT_FRAME_BYTES) full.push(Uint8Array.from(frame.take()));
    return frame.record(database.number, code);
  };
  for (const { describe } of stateMutations) describe?.(database, record);
  for (const done of full) yield done;
  full.length = 0;
  for (let slot = 0; slot < entries.size; slot += 1) {
    const key = entries.keyAt(slot);
    const value = entries.valueAt(slot);
    describeValue({ key, value, record });
    const atMs = expiries.get(key);
    if (atMs !== undefined) describeExpiry(record, key, atMs);
    for (const done of full) yield done;
    full.length = 0;
  }
  if (!frame.isEmpty) yield frame.take();
}

/** Rebuilds a database from its own snapshot, as a restart would: for DEBUG RELOAD. */
import { assert } from "../../kernel/assert.ts";
import { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import { framesOfDatabase } from "./database-frames.ts";
import type { DatabaseState } from "./database-state.ts";
import { describeClear } from "./generic.ts";
import { applyRecords } from "./table.ts";

interface ReloadedDatabase extends DatabaseState {
  readonly number: number;
  /** The published events of keys. */
  readonly eventFlags: string;
  setEventFlags(flags: string): void;
}

/** Within the running unit of work. It is not journaled, since nothing changes. */
export function reloadDatabase(database: ReloadedDatabase): void {
  const { keyspace, number, eventFlags } = database;
  const writer = new FrameWriter();
  describeClear((code) => writer.record(number, code));
  const frames = Array.from(framesOfDatabase(database, writer), (frame) => Buffer.from(frame));
  // The keys do not change, so nothing is published.
  const { onChange, onReady } = keyspace;
  keyspace.onChange = undefined;
  keyspace.onReady = undefined;
  keyspace.onEvent = undefined;
  for (const frame of frames) {
    const reader = new FrameReader(frame);
    assert(reader.number() === number, "the frames of a database name it");
    applyRecords(database, reader);
  }
  database.setEventFlags(eventFlags);
  keyspace.onChange = onChange;
  keyspace.onReady = onReady;
}

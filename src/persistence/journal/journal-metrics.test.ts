import assert from "node:assert/strict";
import { test } from "node:test";
import { appendSafely, emptyDisk, openOn, settle } from "../../../test/harness/persistence-fixture.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { measureJournal } from "./journal-metrics.ts";

test("the metrics of a journal count what it wrote", async () => {
  const opened = await openOn(await emptyDisk(), { mode: "everysec" });
  const metrics = new Metrics();
  measureJournal(metrics, opened.area.journal);
  await appendSafely(opened, "a", "b");
  await settle();
  await appendSafely(opened, "c");

  const values = metrics
    .snapshot()
    .map(({ name, series }) => [name, name.endsWith("_seconds") ? series[0]?.values.at(-2) : series[0]?.values[0]]);

  // A batch is a mark of 32 bytes, then for each frame 8 bytes and its text.
  assert.deepEqual(Object.fromEntries(values), {
    larder_journal_fsync_seconds: 0,
    larder_journal_batches_total: 2,
    larder_journal_frames_total: 3,
    larder_journal_bytes_total: 91,
    larder_journal_queued_bytes: 0,
    larder_journal_unsynced_bytes: 41,
    larder_journal_end_position: 3,
    larder_journal_written_position: 3,
    larder_journal_synced_position: 2,
    larder_journal_refusing: 0,
  });
});

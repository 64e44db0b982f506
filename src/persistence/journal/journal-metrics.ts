/** The metrics of a journal and of the recovery before it, as Prometheus families. */
import type { Metrics } from "../../kernel/metrics.ts";
import type { FileJournal } from "./journal.ts";

/** Registers the metrics of one journal. Each `Metrics` has one journal: the printer adds the label with the area. */
export function measureJournal(metrics: Metrics, journal: FileJournal): void {
  const fsyncs = metrics
    .histogram("larder_journal_fsync_seconds", "Time that each fdatasync of the journal took")
    .with();
  journal.onSynced = (tookMs) => fsyncs.observe(tookMs / 1_000);
  const { counts } = journal;
  metrics.reading("larder_journal_batches_total", "Batches written", () => counts.batches, "counter");
  metrics.reading("larder_journal_frames_total", "Frames written", () => counts.frames, "counter");
  metrics.reading("larder_journal_bytes_total", "Bytes written", () => counts.bytes, "counter");
  metrics.reading("larder_journal_queued_bytes", "Bytes appended but not written", () => journal.queuedBytes);
  metrics.reading("larder_journal_unsynced_bytes", "Bytes written but not synced", () => journal.unsyncedBytes);
  metrics.reading("larder_journal_end_position", "Frames appended since the area was created", () => journal.end);
  metrics.reading(
    "larder_journal_written_position",
    "Frames written since the area was created",
    () => journal.written,
  );
  metrics.reading("larder_journal_synced_position", "Frames synced since the area was created", () => journal.synced);
  metrics.reading("larder_journal_refusing", "1 while writes are refused", () =>
    journal.refusal === undefined ? 0 : 1,
  );
}

/**
 * Stops writes before the disk is full. A full disk loses nothing (journal.ts),
 * but it stops everybody else on the machine as well, and the log of messages,
 * snapshots and backups need space too. So an operator may say how much has to
 * be left.
 *
 * (1) Writes are accepted again when a sixteenth more is free, so that a disk
 *     at the edge does not open and close each second.
 * (2) What cannot be asked refuses nothing: the journal notices a full disk by
 *     itself.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";

export interface SpaceGuardOptions {
  /** Below this, writes are refused. */
  readonly freeBytesMin: number;
  /** What those who write are told. */
  readonly reason: string;
  /** Bytes that the file system has left for us. */
  readFreeBytes(): Promise<number>;
}

export interface GuardedJournal {
  /** Refuses new writes for this reason, or accepts them again. */
  refuse(reason: string | undefined): void;
}

const LOOK_EVERY_MS = 1_000;
/** keeps (1) */
const AGAIN_SHARE = 17 / 16;

/** Looks at once and then each second. The returned function ends that. */
export function guardSpace(
  journal: GuardedJournal,
  { freeBytesMin, reason, readFreeBytes }: SpaceGuardOptions,
  { clock, log }: { clock: Clock; log: Log },
): () => void {
  let isRefusing = false;
  let isUnknown = false;
  let isOver = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    try {
      const freeBytes = await readFreeBytes();
      isUnknown = false;
      const isShort = freeBytes < (isRefusing ? freeBytesMin * AGAIN_SHARE : freeBytesMin);
      if (isShort !== isRefusing && !isOver) {
        isRefusing = isShort;
        journal.refuse(isShort ? reason : undefined);
        if (isShort) log.warn("writes are refused", { reason, freeBytes, freeBytesMin });
        else log.info("writes are accepted again", { freeBytes });
      }
    } catch (fault) {
      // keeps (2)
      if (!isUnknown) log.warn("the space that is left cannot be read", faultFields(fault));
      isUnknown = true;
    }
    if (!isOver) cancel = clock.after(LOOK_EVERY_MS, () => void look());
  };
  void look();
  return () => {
    isOver = true;
    cancel();
  };
}

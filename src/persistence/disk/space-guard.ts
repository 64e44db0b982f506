/**
 * Stops writes before the disk is full. A full disk loses no data (journal.ts),
 * but it stops every other program on the machine too, and the message history,
 * snapshots and backups need space. So an operator may set how much space must
 * remain.
 *
 * (1) Writes are accepted again when a sixteenth more is free, so that a nearly
 *     full disk does not switch between the two states every second.
 * (2) If the free space cannot be read, nothing is refused: the journal notices
 *     a full disk itself.
 * (3) The journal knows whether the disk is tight: below TIGHT_BYTES it asks for
 *     the room of a long frame before it takes one. The bound is more than a second of
 *     writes and the longest frame.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";

export interface SpaceGuardOptions {
  /** Below this, writes are refused; 0: nothing is refused. */
  readonly freeBytesMin: number;
  /** The reason that writers receive. */
  readonly reason: string;
  /** The free bytes of the file system. */
  readFreeBytes(): Promise<number>;
}

export interface GuardedJournal {
  /** Refuses new writes for this reason, or accepts them again. */
  refuse(reason: string | undefined): void;
  /** keeps (3) */
  setTight(isTight: boolean): void;
}

const LOOK_EVERY_MS = 1_000;
export const TIGHT_BYTES = 1024 * 1024 * 1024;
/** keeps (1) */
const AGAIN_SHARE = 17 / 16;

/** Checks at once and then every second. The returned function stops it. */
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
      journal.setTight(freeBytes < TIGHT_BYTES);
      const isShort = freeBytes < (isRefusing ? freeBytesMin * AGAIN_SHARE : freeBytesMin);
      if (isShort !== isRefusing && !isOver) {
        isRefusing = isShort;
        journal.refuse(isShort ? reason : undefined);
        if (isShort) log.warn("writes are refused", { reason, freeBytes, freeBytesMin });
        else log.info("accepting writes again", { freeBytes });
      }
    } catch (fault) {
      // keeps (2)
      if (!isUnknown) log.warn("cannot read the free disk space", faultFields(fault));
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

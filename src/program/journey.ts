/**
 * Work that a jump in time waits for, so that the effects of one moment are complete before the next moment
 * (clock.travel.ts): journal syncs, calls of destinations, reads of their bodies. With a clock that does not travel,
 * nothing is wrapped.
 */

import { TravelClock } from "../kernel/clock.travel.ts";
import type { Clock } from "../kernel/clock.ts";
import type { BodySource, Outbound } from "../messaging/mod.ts";
import type { FileJournal } from "../persistence/journal/journal.ts";

export function awaitSyncs(clock: Clock, journal: FileJournal): void {
  if (!(clock instanceof TravelClock)) return;
  clock.watch(() => {
    // A full disk may stay full.
    const isUnderWay = journal.safe < journal.end && journal.refusal === undefined;
    return isUnderWay ? journal.whenSafe(journal.end) : undefined;
  });
}

export function awaitedCalls(clock: Clock, outbound: Outbound): Outbound {
  if (!(clock instanceof TravelClock)) return outbound;
  return {
    send(request, done) {
      const release = clock.hold();
      outbound.send(request, (result) => {
        const completed = done(result);
        if (completed instanceof Promise) void completed.then(release, release);
        else release();
        return completed;
      });
    },
    dropUser: (name) => outbound.dropUser(name),
  };
}

export function awaitedReads(clock: Clock, source: BodySource): BodySource {
  if (!(clock instanceof TravelClock)) return source;
  return {
    async read(segment, offset, length) {
      const release = clock.hold();
      try {
        return await source.read(segment, offset, length);
      } finally {
        release();
      }
    },
  };
}

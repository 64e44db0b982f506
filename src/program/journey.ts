/**
 * What a jump in time waits for, so that everything that one moment sets off is done before the next one
 * (clock.travel.ts): journals that are being synced, calls of destinations, bodies that are being read for them. With a
 * clock that does not travel, nothing is in between.
 */

import { TravelClock } from "../kernel/clock.travel.ts";
import type { Clock } from "../kernel/clock.ts";
import type { BodySource, Outbound } from "../messaging/mod.ts";
import type { FileJournal } from "../persistence/journal/journal.ts";

export function awaitSyncs(clock: Clock, journal: FileJournal): void {
  if (!(clock instanceof TravelClock)) return;
  clock.watch(() => {
    // A disk that is full may stay so.
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
        const kept = done(result);
        if (kept instanceof Promise) void kept.then(release, release);
        else release();
        return kept;
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

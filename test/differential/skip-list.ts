/**
 * What is not compared with Redis 7.0.15, or not byte by byte, and why. A
 * command that no family draws needs a row here.
 */
export interface Skipped {
  /** A command in capitals, a whole family of the store as `family …`, or a matter in words. */
  readonly what: string;
  readonly reason: string;
}

export const skipList: readonly Skipped[] = [
  {
    what: "DELEX",
    reason: "Redis 8.4; tables beside the command, and random programs for what it journals",
  },
  {
    what: "DIGEST",
    reason: "Redis 8.4; tables beside the command",
  },
  {
    what: "SET with IFEQ, IFNE, IFDEQ, IFDNE",
    reason: "Redis 8.4; tables beside the command, and random programs for what it journals",
  },
  {
    what: "expiry beyond the year 10889",
    reason:
      "we keep the latest moment that fits 48 bits of milliseconds where Redis keeps 63 bits; TTL and its relatives then tell that moment",
  },
  {
    what: "times that go on",
    reason:
      "TTL, PTTL and expiries counted from now are compared with a tolerance of 20 s, because our clock stands still; keys that expire within seconds are left to the unit tests",
  },
  {
    what: "option words with a zero byte inside",
    reason:
      "Redis compares option words as C strings, up to the first zero byte, and cuts error texts that quote them there; we take the whole word",
  },
  {
    what: "strings between 10 KB and 512 MB",
    reason:
      "the same code as at 10 KB, and each would cost the run its time; only the refusal beyond 512 MB is compared",
  },
  {
    what: "MGET beyond 128 MB",
    reason: "refused by us so that a short request cannot make a reply without bounds; Redis sends it",
  },
];

/**
 * Time zones: the offset of a zone from UTC, in periods of constant offset.
 *
 * `Intl` returns the offset of one time in about a microsecond. A schedule needs to
 * know how long an offset lasts, and ten thousand schedules fire in one minute, so
 * each zone caches the transitions of the years in use.
 *
 * (1) Within a period the offset is constant. Neighbours differ, except at the
 *     boundary between two pages of the search.
 * (2) Transitions are at whole seconds (they are in the tz database).
 * (3) Two transitions that cancel each other within four days would not be found.
 *     The closest ones since 1970 are almost a week apart (Boa Vista, 2000).
 */
import { InvalidCron } from "./fields.ts";

/** A period during which the offset of a zone is constant. */
export interface ZonePeriod {
  /** The first ms. */
  readonly startMs: number;
  /** The first ms after it. */
  readonly endMs: number;
  /** Local time is UTC plus this. */
  readonly offsetMs: number;
  /**
   * The latest local time that clocks have shown before the period. After a clock was set back it is later than the
   * first local time of the period: the time between them is repeated.
   */
  readonly shownUntilLocalMs: number;
}

export interface Zone {
  /** The spelling of `Intl`. */
  readonly name: string;
  /** The period that contains `atMs`. */
  periodAt(atMs: number): ZonePeriod;
}

const allTimes: ZonePeriod = {
  startMs: Number.NEGATIVE_INFINITY,
  endMs: Number.POSITIVE_INFINITY,
  offsetMs: 0,
  shownUntilLocalMs: Number.NEGATIVE_INFINITY,
};

/** UTC needs no look-up. */
export const utc: Zone = { name: "UTC", periodAt: () => allTimes };

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** The time between two probes of the offset. */
const PROBE_MS = 4 * DAY_MS;
/** The time that one search for transitions covers: about 130 probes and 0.3 ms. */
const PAGE_MS = 128 * PROBE_MS;
/** Cached pages of each zone. Only clocks that travel far need more; then the cache is cleared. */
const PAGES_MAX = 64;
/** Longer than any name in the tz database. */
const NAME_LENGTH_MAX = 64;

/** Zones by lower-case name. Only existing names are added, so it has a few hundred at most. */
const zones = new Map<string, Zone>();

/** The zone with a case-insensitive name of the tz database. Throws `InvalidCron` for any other text. */
export function findZone(name: string): Zone {
  const known = zones.get(name.toLowerCase());
  if (known !== undefined) return known;
  const format = formatOf(name);
  const resolved = format.resolvedOptions().timeZone;
  const zone = resolved === "UTC" ? utc : new TransitionZone(resolved, format);
  zones.set(name.toLowerCase(), zone);
  return zone;
}

function formatOf(name: string): Intl.DateTimeFormat {
  // Some versions of Node accept offsets such as +05:30 as names; a schedule must mean the same everywhere.
  if (name.length > NAME_LENGTH_MAX || !/^[A-Za-z]/.test(name)) throw unknownZone(name);
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  } catch (cause) {
    throw unknownZone(name, cause);
  }
}

function unknownZone(name: string, cause?: unknown): InvalidCron {
  const shown = name.slice(0, NAME_LENGTH_MAX);
  return new InvalidCron(`Unknown time zone ${JSON.stringify(shown)}; give a name such as Europe/Berlin`, { cause });
}

class TransitionZone implements Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #pages = new Map<number, readonly ZonePeriod[]>();

  constructor(name: string, format: Intl.DateTimeFormat) {
    this.name = name;
    this.#format = format;
  }

  periodAt(atMs: number): ZonePeriod {
    const page = this.#page(Math.floor(atMs / PAGE_MS));
    let at = page.length - 1;
    while (at > 0 && (page[at] as ZonePeriod).startMs > atMs) at -= 1;
    return page[at] as ZonePeriod;
  }

  #page(number: number): readonly ZonePeriod[] {
    const known = this.#pages.get(number);
    if (known !== undefined) return known;
    if (this.#pages.size >= PAGES_MAX) this.#pages.clear();
    const page = this.#search(number * PAGE_MS);
    this.#pages.set(number, page);
    return page;
  }

  /** The periods of the page that starts at `pageMs`. */
  #search(pageMs: number): ZonePeriod[] {
    const periods: ZonePeriod[] = [];
    // If the clock was set back shortly before the page, the page begins with repeated local time.
    let atMs = pageMs - PROBE_MS;
    let offsetMs = this.#offsetAt(atMs);
    let startMs = atMs;
    let shownUntilLocalMs = Number.NEGATIVE_INFINITY;
    const close = (endMs: number): void => {
      if (endMs > pageMs) periods.push({ startMs, endMs, offsetMs, shownUntilLocalMs });
      shownUntilLocalMs = Math.max(shownUntilLocalMs, endMs + offsetMs);
      startMs = endMs;
    };
    const pageEndMs = pageMs + PAGE_MS;
    for (; atMs < pageEndMs; atMs += PROBE_MS) {
      const nextOffsetMs = this.#offsetAt(atMs + PROBE_MS);
      if (nextOffsetMs === offsetMs) continue;
      const transitionMs = this.#transitionWithin(atMs, atMs + PROBE_MS);
      if (transitionMs >= pageEndMs) break;
      close(transitionMs);
      offsetMs = nextOffsetMs;
    }
    close(pageEndMs);
    return periods;
  }

  /** The first second with the offset of `endMs`, which differs from that of `startMs`. */
  #transitionWithin(startMs: number, endMs: number): number {
    const offsetMs = this.#offsetAt(startMs);
    let before = startMs;
    let after = endMs;
    while (after - before > SECOND_MS) {
      const middle = before + Math.floor((after - before) / 2 / SECOND_MS) * SECOND_MS;
      if (this.#offsetAt(middle) === offsetMs) before = middle;
      else after = middle;
    }
    return after;
  }

  #offsetAt(atMs: number): number {
    const text = this.#format.format(atMs);
    return parseOffsetMs(text.slice(text.indexOf("GMT") + 3));
  }
}

/** `+05:30`, `-00:44:30` or an empty text, as `longOffset` writes them after `GMT`. */
function parseOffsetMs(text: string): number {
  if (text === "") return 0;
  const [hours = 0, minutes = 0, seconds = 0] = text.slice(1).split(":").map(Number);
  const ms = ((hours * 60 + minutes) * 60 + seconds) * SECOND_MS;
  return text.startsWith("-") ? -ms : ms;
}

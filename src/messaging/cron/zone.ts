/**
 * Time zones: how far a zone's clock is ahead of UTC, as spans of time.
 *
 * `Intl` answers one moment at a time in about a microsecond. A schedule wants
 * to know how long an answer holds, and ten thousand of them fire in one
 * minute, so each zone keeps the transitions of the years it was asked for.
 *
 * (1) Within a span the offset is the same. Neighbours differ, except where one
 *     page of the search ends and the next begins.
 * (2) Transitions lie on whole seconds (they do in the tz database).
 * (3) Two transitions that undo each other within four days would not be seen.
 *     The closest ones since 1970 are almost a week apart (Boa Vista, 2000).
 */
import { InvalidCron } from "./fields.ts";

/** A stretch of time during which a zone's clock runs evenly. */
export interface ZoneSpan {
  /** The first moment. */
  readonly startMs: number;
  /** The first moment after it. */
  readonly endMs: number;
  /** Local time is UTC plus this. */
  readonly offsetMs: number;
  /**
   * Local time up to which clocks have shown before the span began. Later than the span's own first local moment after a
   * clock was set back: the time in between is shown a second time.
   */
  readonly shownUntilLocalMs: number;
}

export interface Zone {
  /** As `Intl` spells it. */
  readonly name: string;
  /** The span that holds `atMs`. */
  spanAt(atMs: number): ZoneSpan;
}

const allTimes: ZoneSpan = {
  startMs: Number.NEGATIVE_INFINITY,
  endMs: Number.POSITIVE_INFINITY,
  offsetMs: 0,
  shownUntilLocalMs: Number.NEGATIVE_INFINITY,
};

/** UTC needs no look-up. */
export const utc: Zone = { name: "UTC", spanAt: () => allTimes };

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** Between two looks at the offset. */
const PROBE_MS = 4 * DAY_MS;
/** What is searched for transitions at a time: whole probes, about 130 looks and 0.3 ms. */
const PAGE_MS = 128 * PROBE_MS;
/** Pages kept for each zone. More come from clocks that travel far; then the zone starts again. */
const PAGES_MAX = 64;
/** Longer than any name in the tz database. */
const NAME_LENGTH_MAX = 64;

/** Zones by lower-case name. Only names that exist get in, so there are a few hundred at most. */
const zones = new Map<string, Zone>();

/** The zone of a name in the tz database, without regard to case. Throws `InvalidCron` for any other text. */
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
  // Some versions of Node take offsets such as +05:30 for names; a schedule must mean the same everywhere.
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
  readonly #pages = new Map<number, readonly ZoneSpan[]>();

  constructor(name: string, format: Intl.DateTimeFormat) {
    this.name = name;
    this.#format = format;
  }

  spanAt(atMs: number): ZoneSpan {
    const page = this.#page(Math.floor(atMs / PAGE_MS));
    let at = page.length - 1;
    while (at > 0 && (page[at] as ZoneSpan).startMs > atMs) at -= 1;
    return page[at] as ZoneSpan;
  }

  #page(number: number): readonly ZoneSpan[] {
    const known = this.#pages.get(number);
    if (known !== undefined) return known;
    if (this.#pages.size >= PAGES_MAX) this.#pages.clear();
    const page = this.#search(number * PAGE_MS);
    this.#pages.set(number, page);
    return page;
  }

  /** The spans of the page that starts at `pageMs`. */
  #search(pageMs: number): ZoneSpan[] {
    const spans: ZoneSpan[] = [];
    // A clock that was set back shortly before the page shows old time at its beginning.
    let atMs = pageMs - PROBE_MS;
    let offsetMs = this.#offsetAt(atMs);
    let startMs = atMs;
    let shownUntilLocalMs = Number.NEGATIVE_INFINITY;
    const close = (endMs: number): void => {
      if (endMs > pageMs) spans.push({ startMs, endMs, offsetMs, shownUntilLocalMs });
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
    return spans;
  }

  /** The first second with the offset of `endMs`, when that of `startMs` is another one. */
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

/** `+05:30`, `-00:44:30` or nothing at all, as `longOffset` writes them after `GMT`. */
function parseOffsetMs(text: string): number {
  if (text === "") return 0;
  const [hours = 0, minutes = 0, seconds = 0] = text.slice(1).split(":").map(Number);
  const ms = ((hours * 60 + minutes) * 60 + seconds) * SECOND_MS;
  return text.startsWith("-") ? -ms : ms;
}

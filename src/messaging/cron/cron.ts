/**
 * Cron texts: when a schedule fires.
 *
 *     [CRON_TZ=Area/City ] minute hour day-of-month month day-of-week
 *     [CRON_TZ=Area/City ] @yearly | @annually | @monthly | @weekly | @daily | @midnight | @hourly
 *     [CRON_TZ=Area/City ] @every 1h30m
 *
 * `TZ=` is the same as `CRON_TZ=`; the default zone is UTC. `fields.ts` has the grammar of a field, `calendar.ts`
 * the rule for the two day fields. A schedule fires at whole minutes of local time.
 *
 * When a zone's clock is set forward or back (threats C-24; the interface names robfig/cron as its model):
 *
 * (1) A skipped local time does not fire later: `30 2 * * *` does not fire on a day without 2:30.
 * (2) A repeated local time counts once, the first time: `30 1 * * *` fires once a day. robfig/cron itself would fire
 *     twice.
 * (3) A schedule whose hours are written with `*`, or are all 24, uses elapsed hours: it fires both times.
 *     `*\/10 * * * *` has no gap of an hour, and `0 *\/2 * * *` fires twice if the repeated hour is an even one.
 *
 * `@every` counts from the given time, as in robfig/cron: whole seconds, from one minute to 366 days. It is the only
 * form whose next time depends on the last one, so the caller must store that.
 */
import { parseGoDurationMs } from "../../kernel/text/duration.ts";
import { nextMatchMs } from "./calendar.ts";
import { type CronFields, InvalidCron, parseFields } from "./fields.ts";
import { findZone, utc, type Zone } from "./zone.ts";

export interface Cron {
  /** As given, without blanks around it. */
  readonly text: string;
  /**
   * The first time strictly after `afterMs` at which it fires, both in ms since 1970. Times before 1970 count as 1970.
   * Undefined if it does not fire within nine years, or `afterMs` is not a valid date.
   */
  nextAfterMs(afterMs: number): number | undefined;
}

/** In characters. Longer texts have no use, and parsing time grows with them. */
export const CRON_LENGTH_MAX = 256;

const DAY_MS = 86_400_000;
/** 29 February is repeated after eight years at most (2096, 2104). */
const SEARCH_MS_MAX = 9 * 366 * DAY_MS;
/** The last time of JavaScript's dates, minus the searched range. */
const MOMENT_MS_MAX = 8.64e15 - 2 * SEARCH_MS_MAX;
const EVERY_MS_MIN = 60_000;
const EVERY_MS_MAX = 366 * DAY_MS;

const descriptors: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

/** Throws `InvalidCron` with the fault. */
export function parseCron(given: string): Cron {
  if (given.length > CRON_LENGTH_MAX) throw new InvalidCron(`Longer than ${CRON_LENGTH_MAX} characters`);
  const text = given.trim();
  if (text === "") throw new InvalidCron("Empty; give five fields, such as 0 9 * * mon-fri");
  const { zone, rule } = parseZone(text);
  if (rule.startsWith("@every ")) return new IntervalCron(text, parseEveryMs(rule.slice("@every ".length).trim()));
  if (!rule.startsWith("@")) return new FieldCron(text, zone, parseFields(rule));
  const fields = descriptors.get(rule);
  if (fields === undefined)
    throw new InvalidCron(
      `Unknown descriptor ${JSON.stringify(rule)}; known descriptors are ${[...descriptors.keys()].join(" ")} @every`,
    );
  return new FieldCron(text, zone, parseFields(fields));
}

function parseZone(text: string): { zone: Zone; rule: string } {
  const [word = "", name] = /^(?:CRON_)?TZ=(\S*)\s*/.exec(text) ?? [];
  const rule = text.slice(word.length);
  if (name === undefined) return { zone: utc, rule };
  const zone = findZone(name);
  if (rule === "")
    throw new InvalidCron("The fields after the time zone are missing; give five fields, such as 0 9 * * mon-fri");
  return { zone, rule };
}

function parseEveryMs(text: string): number {
  const ms = parseGoDurationMs(text);
  if (ms === undefined)
    throw new InvalidCron(`Invalid interval ${JSON.stringify(text)} after @every; give one such as 1h30m`);
  const wholeSecondsMs = ms - (ms % 1_000);
  if (wholeSecondsMs < EVERY_MS_MIN) throw new InvalidCron("The interval after @every is shorter than one minute");
  if (wholeSecondsMs > EVERY_MS_MAX) throw new InvalidCron("The interval after @every is longer than 366 days");
  return wholeSecondsMs;
}

class FieldCron implements Cron {
  readonly text: string;
  readonly #zone: Zone;
  readonly #fields: CronFields;

  constructor(text: string, zone: Zone, fields: CronFields) {
    this.text = text;
    this.#zone = zone;
    this.#fields = fields;
  }

  nextAfterMs(afterMs: number): number | undefined {
    if (!isMoment(afterMs)) return undefined;
    let atMs = Math.max(Math.floor(afterMs) + 1, 0);
    const limitMs = atMs + SEARCH_MS_MAX;
    while (atMs < limitMs) {
      const { endMs, offsetMs, shownUntilLocalMs } = this.#zone.periodAt(atMs);
      let fromLocalMs = atMs + offsetMs;
      // keeps (2) and (3)
      if (!this.#fields.runsEveryHour) fromLocalMs = Math.max(fromLocalMs, shownUntilLocalMs);
      // A local time after the end of the period is skipped, or belongs to the next period: keeps (1).
      const foundLocalMs = nextMatchMs(this.#fields, fromLocalMs, Math.min(endMs, limitMs) + offsetMs);
      if (foundLocalMs !== undefined) return foundLocalMs - offsetMs;
      atMs = endMs;
    }
    return undefined;
  }
}

class IntervalCron implements Cron {
  readonly text: string;
  readonly #everyMs: number;

  constructor(text: string, everyMs: number) {
    this.text = text;
    this.#everyMs = everyMs;
  }

  nextAfterMs(afterMs: number): number | undefined {
    if (!isMoment(afterMs)) return undefined;
    const afterSecondMs = Math.max(Math.floor(afterMs / 1_000) * 1_000, 0);
    return afterSecondMs + this.#everyMs;
  }
}

function isMoment(ms: number): boolean {
  // Also false for NaN.
  return Math.abs(ms) <= MOMENT_MS_MAX;
}

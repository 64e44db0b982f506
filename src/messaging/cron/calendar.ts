/**
 * Finds the next time that matches the five fields, by a clock without changes: it
 * uses the calendar of UTC for local time, and ignores zones.
 *
 * A day matches if its month does and
 *   - both day fields are `*`, or
 *   - one is other than `*` and matches, or
 *   - both are, and either matches (as robfig/cron; `*` with a step above 1 is other than `*` there).
 */
import type { CronFields } from "./fields.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * The first whole minute from `fromMs` on, and before `limitMs`, that matches the fields. Both are local ms since
 * 1 January 1970.
 */
export function nextMatchMs(fields: CronFields, fromMs: number, limitMs: number): number | undefined {
  const startMs = Math.ceil(fromMs / MINUTE_MS) * MINUTE_MS;
  const dayMs = nextDayMs(fields, startMs, limitMs);
  if (dayMs === undefined) return undefined;
  const minute = nextMinuteOfDay(fields, Math.max(0, (startMs - dayMs) / MINUTE_MS));
  if (minute !== undefined) return before(limitMs, dayMs + minute * MINUTE_MS);
  // No time of this day is left. Every later day has a matching minute.
  const laterMs = nextDayMs(fields, dayMs + DAY_MS, limitMs);
  return laterMs === undefined ? undefined : before(limitMs, laterMs + (nextMinuteOfDay(fields, 0) ?? 0) * MINUTE_MS);
}

function before(limitMs: number, ms: number): number | undefined {
  return ms < limitMs ? ms : undefined;
}

/** The midnight of the first matching day, from the day of `fromMs` on, in a month that begins before the limit. */
function nextDayMs(fields: CronFields, fromMs: number, limitMs: number): number | undefined {
  const date = new Date(fromMs);
  const year = date.getUTCFullYear();
  let dayIndex = date.getUTCDate() - 1;
  for (let month = date.getUTCMonth(); ; month += 1) {
    // Months beyond the twelfth are in later years.
    const monthMs = Date.UTC(year, month);
    if (monthMs >= limitMs) return undefined;
    if ((fields.months >> (month % 12)) & 1) {
      const found = lowestBitFrom(daysOfMonth(fields, monthMs, Date.UTC(year, month + 1)), dayIndex);
      if (found >= 0) return monthMs + found * DAY_MS;
    }
    dayIndex = 0;
  }
}

/** The matching days of the month from `monthMs` to `endMs`: bit 0 is its first. */
function daysOfMonth(fields: CronFields, monthMs: number, endMs: number): number {
  const length = (endMs - monthMs) / DAY_MS;
  const firstWeekday = new Date(monthMs).getUTCDay();
  const byWeekday = daysByWeekday(fields.weekdays, firstWeekday);
  // A field that is `*` has all bits, so "and" leaves the other one.
  const days = fields.hasDays && fields.hasWeekdays ? fields.days | byWeekday : fields.days & byWeekday;
  return days & (-1 >>> (32 - length));
}

/** The weekdays repeated over 31 days, the first of which is `firstWeekday`. */
function daysByWeekday(weekdays: number, firstWeekday: number): number {
  const week = ((weekdays >> firstWeekday) | (weekdays << (7 - firstWeekday))) & 0x7f;
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28);
}

/** The first minute of the day from `minuteOfDay` on that matches hour and minute. */
function nextMinuteOfDay(fields: CronFields, minuteOfDay: number): number | undefined {
  const hour = Math.floor(minuteOfDay / 60);
  if ((fields.hours >> hour) & 1) {
    const minute = nextMinute(fields, minuteOfDay % 60);
    if (minute >= 0) return hour * 60 + minute;
  }
  const laterHour = lowestBitFrom(fields.hours, hour + 1);
  return laterHour < 0 ? undefined : laterHour * 60 + nextMinute(fields, 0);
}

function nextMinute(fields: CronFields, minute: number): number {
  const low = minute < 30 ? lowestBitFrom(fields.minutesLow, minute) : -1;
  if (low >= 0) return low;
  const high = lowestBitFrom(fields.minutesHigh, Math.max(minute - 30, 0));
  return high < 0 ? -1 : high + 30;
}

/** The number of the lowest bit from `from` on (31 at most) that is set, or -1. */
function lowestBitFrom(bits: number, from: number): number {
  const rest = bits & (-1 << from);
  return rest === 0 ? -1 : 31 - Math.clz32(rest & -rest);
}

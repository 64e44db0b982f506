/**
 * Dates of documents and filters: RFC 3339 (`2025-03-01T09:30:00.5+01:00`), or
 * a day alone (`2025-03-01`), which means its midnight in UTC. They become
 * milliseconds since 1970; finer fractions are cut off.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

const DATE =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d{1,64}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d)))?$/;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** The time in ms since 1970, or undefined if the text is no date. A leap second is the first one of the next minute. */
export function dateMs(text: Bytes): number | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hours, minutes, seconds, fraction = "", sign, offsetHours, offsetMinutes] = match;
  const days = daysSince1970(Number(year), Number(month), Number(day));
  if (days === undefined) return undefined;
  if (hours === undefined) return days * DAY_MS;
  const ms = Number(fraction.slice(0, 3).padEnd(3, "0"));
  const timeMs = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * 1_000 + ms;
  const offsetMs = sign === undefined ? 0 : Number(offsetHours) * HOUR_MS + Number(offsetMinutes) * MINUTE_MS;
  return days * DAY_MS + timeMs - (sign === "-" ? -offsetMs : offsetMs);
}

/** In the Gregorian calendar, also before its introduction; undefined if the day does not exist. */
function daysSince1970(year: number, month: number, day: number): number | undefined {
  const length = month === 2 && isLeapYear(year) ? 29 : monthDays[month - 1];
  if (length === undefined || day < 1 || day > length) return undefined;
  // Date.UTC reads years below 100 as 1900 and later; the calendar repeats every 400 years.
  return Date.UTC(year + 400, month - 1, day) / DAY_MS - DAYS_OF_400_YEARS;
}

const DAYS_OF_400_YEARS = 146_097;

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

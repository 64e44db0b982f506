/**
 * Dates in HTTP headers, in the three forms of RFC 9110 §5.6.7. A recipient
 * must take all of them.
 *
 *     Sun, 06 Nov 1994 08:49:37 GMT      the form in use today (RFC 1123)
 *     Sunday, 06-Nov-94 08:49:37 GMT     RFC 850
 *     Sun Nov  6 08:49:37 1994           C's asctime
 *
 * The first form may also have `UTC` or a numeric zone such as `+0100`. The weekday is not compared with the date,
 * because servers get it wrong.
 */

/** The length of the longest form. */
const TEXT_LENGTH_MAX = 64;
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/** A two-digit year further in the future is in the past century (RFC 9110 §5.6.7). */
const YEARS_AHEAD_MAX = 50;

const forms: readonly RegExp[] = [
  /^[a-z]{3}, (?<day>\d\d?) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) (?:gmt|utc|(?<zone>[+-]\d{4}))$/i,
  /^[a-z]{6,9}, (?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) (?:gmt|utc)$/i,
  /^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/i,
];

/** The time in ms since 1970, or undefined if `text` is not a date. `nowMs` determines the century of two digits. */
export function parseHttpDateMs(text: string, nowMs: number): number | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  for (const form of forms) {
    const parts = form.exec(text)?.groups;
    if (parts !== undefined) return momentOf(parts, nowMs);
  }
  return undefined;
}

function momentOf(parts: Record<string, string | undefined>, nowMs: number): number | undefined {
  const { day = "", month = "", year = "", time = "", zone = "+0000" } = parts;
  const monthIndex = MONTHS.indexOf(month.toLowerCase());
  const fullYear = year.length === 2 ? yearOfTwoDigits(Number(year), nowMs) : Number(year);
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  const zoneMinutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3));
  // A leap second counts as the next second.
  if (hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const dayMs = Date.UTC(fullYear, monthIndex, Number(day));
  // Date.UTC makes 31 February a day in March, and years below 100 those of the last century.
  const date = new Date(dayMs);
  if (date.getUTCFullYear() !== fullYear || date.getUTCMonth() !== monthIndex) return undefined;
  const ofDayMinutes = hours * 60 + minutes + (zone.startsWith("-") ? zoneMinutes : -zoneMinutes);
  return dayMs + (ofDayMinutes * 60 + seconds) * 1_000;
}

/** The last year with these digits that is not too far ahead. */
function yearOfTwoDigits(digits: number, nowMs: number): number {
  const yearMax = new Date(nowMs).getUTCFullYear() + YEARS_AHEAD_MAX;
  return yearMax - ((yearMax - digits) % 100);
}

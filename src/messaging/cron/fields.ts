/**
 * The five fields of a cron text as sets of bits.
 *
 *     minute 0-59   hour 0-23   day of month 1-31   month 1-12 or jan-dec   day of week 0-6 or sun-sat
 *
 * A field is a list, separated by commas, of
 *
 *     *   ?      every value; both mean the same in each field
 *     a          one value
 *     a-b        from a to b, both included, a <= b
 *     x/n        every n-th value of x, counted from its first; a/n runs from a to the field's last value
 *
 * This is the grammar of robfig/cron (C.cron.fields): Sunday is 0 and not 7, ranges do not wrap around, names are three
 * letters in either case. Stricter than there: an empty item of a list and `*-5` are refused as mistakes.
 */

/** The message has the fault and quotes the part. */
export class InvalidCron extends Error {
  override name = "InvalidCron";
}

/** Sets as bits. Bit 0 is the first of the month and January. */
export interface CronFields {
  /** Minutes 0 to 29, and 30 to 59. */
  readonly minutesLow: number;
  readonly minutesHigh: number;
  readonly hours: number;
  readonly days: number;
  readonly months: number;
  readonly weekdays: number;
  /** The field is other than `*`, and so takes part in the choice of days. */
  readonly hasDays: boolean;
  readonly hasWeekdays: boolean;
  /** The hours are written with a `*`, or are all of the day: the schedule uses elapsed hours, not the clock. */
  readonly runsEveryHour: boolean;
}

interface Field {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  /** In the order of their values, from `first` on. */
  readonly names: readonly string[];
}

const MINUTE: Field = { name: "minute", first: 0, last: 59, names: [] };
const HOUR: Field = { name: "hour", first: 0, last: 23, names: [] };
const DAY: Field = { name: "day of month", first: 1, last: 31, names: [] };
const MONTH: Field = {
  name: "month",
  first: 1,
  last: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAY: Field = {
  name: "day of week",
  first: 0,
  last: 6,
  names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

const FIELD_COUNT = 5;
/** The maximal lengths of months: February's is that of leap years. */
const MONTH_LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Parses a text of five fields. Throws `InvalidCron`, also for dates that do not exist in any year. */
export function parseFields(text: string): CronFields {
  const parts = text.split(/\s+/);
  if (parts.length !== FIELD_COUNT) {
    const remedy = parts.length === FIELD_COUNT + 1 ? "; seconds are not supported, leave them out" : "";
    throw new InvalidCron(
      `Expected ${FIELD_COUNT} fields (minute hour day-of-month month day-of-week), found ${parts.length}${remedy}`,
    );
  }
  const [minuteText = "", hourText = "", dayText = "", monthText = "", weekdayText = ""] = parts;
  const minutes = parseField(minuteText, MINUTE);
  const hours = parseField(hourText, HOUR);
  const days = parseField(dayText, DAY);
  const months = parseField(monthText, MONTH);
  const weekdays = parseField(weekdayText, WEEKDAY);
  if (!days.isAll && weekdays.isAll) checkThatDatesExist(days.values, months.values);
  return {
    minutesLow: bitsOf(minutes.values, 0, 29),
    minutesHigh: bitsOf(minutes.values, 30, 59),
    hours: bitsOf(hours.values, HOUR.first, HOUR.last),
    days: bitsOf(days.values, DAY.first, DAY.last),
    months: bitsOf(months.values, MONTH.first, MONTH.last),
    weekdays: bitsOf(weekdays.values, WEEKDAY.first, WEEKDAY.last),
    hasDays: !days.isAll,
    hasWeekdays: !weekdays.isAll,
    runsEveryHour: hours.hasStar || hours.values.size === 24,
  };
}

interface Choice {
  readonly values: ReadonlySet<number>;
  /** An item is `*` or `?`, with a step or without. */
  readonly hasStar: boolean;
  /** An item is `*` or `?` without a step: the field does not restrict. */
  readonly isAll: boolean;
}

function parseField(text: string, field: Field): Choice {
  const values = new Set<number>();
  let hasStar = false;
  let isAll = false;
  for (const item of text.split(",")) {
    const { first, last, step, isStar } = parseItem(item, field);
    hasStar ||= isStar;
    isAll ||= isStar && step === 1;
    for (let value = first; value <= last; value += step) values.add(value);
  }
  return { values, hasStar, isAll };
}

function parseItem(item: string, field: Field): { first: number; last: number; step: number; isStar: boolean } {
  const [range = "", stepText, ...furtherSteps] = item.split("/");
  const [firstText = "", lastText, ...furtherEnds] = range.split("-");
  const isStar = firstText === "*" || firstText === "?";
  if (furtherSteps.length > 0 || furtherEnds.length > 0 || (isStar && lastText !== undefined))
    throw invalid(item, field, "expected a value, a range a-b or *, and a step after / at most");
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  if (step === undefined || step < 1) throw invalid(item, field, "a step is a whole number from 1");
  if (isStar) return { first: field.first, last: field.last, step, isStar };
  const first = parseValue(firstText, item, field);
  if (lastText !== undefined) {
    const last = parseValue(lastText, item, field);
    if (last < first) throw invalid(item, field, "the range ends before it begins");
    return { first, last, step, isStar };
  }
  return { first, last: stepText === undefined ? first : field.last, step, isStar };
}

function parseValue(text: string, item: string, field: Field): number {
  const nameIndex = field.names.indexOf(text.toLowerCase());
  const value = nameIndex >= 0 ? field.first + nameIndex : parseNumber(text);
  if (value === undefined) throw invalid(item, field, `${JSON.stringify(text)} is no value`);
  if (value < field.first || value > field.last) {
    const remedy = field === WEEKDAY && value === 7 ? "; Sunday is 0" : "";
    throw invalid(item, field, `${value} is not within ${field.first} to ${field.last}${remedy}`);
  }
  return value;
}

function parseNumber(text: string): number | undefined {
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

function invalid(item: string, field: Field, fault: string): InvalidCron {
  return new InvalidCron(`Invalid ${field.name} ${JSON.stringify(item)}: ${fault}`);
}

/** Throws for a schedule that never fires. */
function checkThatDatesExist(days: ReadonlySet<number>, months: ReadonlySet<number>): void {
  const firstDay = Math.min(...days);
  for (const month of months) if (firstDay <= (MONTH_LENGTHS[month - 1] ?? 0)) return;
  throw new InvalidCron("None of the months has any of the days: the schedule would never fire");
}

/** Bit `value - first` for each of the values from `first` to `last`, 31 at most. */
function bitsOf(values: ReadonlySet<number>, first: number, last: number): number {
  let bits = 0;
  for (const value of values) if (value >= first && value <= last) bits |= 1 << (value - first);
  return bits;
}

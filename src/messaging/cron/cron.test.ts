import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Cron, parseCron } from "./cron.ts";
import { InvalidCron } from "./fields.ts";
import { findZone } from "./zone.ts";

/** The next times after `after`, as `2026-01-05T09:00Z`. */
function firesOf(cron: Cron, after: string, count: number): string {
  const fires: string[] = [];
  let atMs: number | undefined = Date.parse(after);
  while (fires.length < count) {
    atMs = cron.nextAfterMs(atMs);
    if (atMs === undefined) return [...fires, "never"].join(" ");
    fires.push(`${new Date(atMs).toISOString().slice(0, 16)}Z`);
  }
  return fires.join(" ");
}

test("C.cron, C.cron.fields: fields, names, lists, ranges and steps", () => {
  // 2026-01-01 is a Thursday.
  const table: [string, string, string][] = [
    ["* * * * *", "2026-01-01T00:00Z", "2026-01-01T00:01Z 2026-01-01T00:02Z"],
    ["? ? ? ? ?", "2026-01-01T00:00Z", "2026-01-01T00:01Z 2026-01-01T00:02Z"],
    ["* * * * *", "2026-01-01T00:00:59.999Z", "2026-01-01T00:01Z 2026-01-01T00:02Z"],
    ["* * * * *", "2026-12-31T23:59Z", "2027-01-01T00:00Z 2027-01-01T00:01Z"],
    ["*/25 * * * *", "2026-01-01T00:00Z", "2026-01-01T00:25Z 2026-01-01T00:50Z 2026-01-01T01:00Z"],
    ["50/4 * * * *", "2026-01-01T00:00Z", "2026-01-01T00:50Z 2026-01-01T00:54Z 2026-01-01T00:58Z 2026-01-01T01:50Z"],
    ["10-20/5 3 * * *", "2026-01-01T03:10Z", "2026-01-01T03:15Z 2026-01-01T03:20Z 2026-01-02T03:10Z"],
    [
      "29,30,59 * * * *",
      "2026-01-01T00:00Z",
      "2026-01-01T00:29Z 2026-01-01T00:30Z 2026-01-01T00:59Z 2026-01-01T01:29Z",
    ],
    ["0 */9 * * *", "2026-01-01T00:00Z", "2026-01-01T09:00Z 2026-01-01T18:00Z 2026-01-02T00:00Z"],
    ["0 9 * * mon-fri", "2026-01-01T09:00Z", "2026-01-02T09:00Z 2026-01-05T09:00Z"],
    ["0 9 * * MON,Wed", "2026-01-01T09:00Z", "2026-01-05T09:00Z 2026-01-07T09:00Z"],
    ["0 9 * * 0", "2026-01-01T09:00Z", "2026-01-04T09:00Z 2026-01-11T09:00Z"],
    ["0 0 * jan-MAR/2 6", "2026-01-30T00:00Z", "2026-01-31T00:00Z 2026-03-07T00:00Z"],
    ["0 0 31 * *", "2026-01-31T00:00Z", "2026-03-31T00:00Z 2026-05-31T00:00Z"],
    ["0 0 29 feb *", "2026-01-01T00:00Z", "2028-02-29T00:00Z 2032-02-29T00:00Z"],
    ["0 0 29 2 *", "2096-02-29T00:00Z", "2104-02-29T00:00Z 2108-02-29T00:00Z"],
    ["  5 4 * * *\t", "2026-01-01T00:00Z", "2026-01-01T04:05Z 2026-01-02T04:05Z"],
    ["5   4\t* * *", "2026-01-01T00:00Z", "2026-01-01T04:05Z 2026-01-02T04:05Z"],
    ["0-0 23-23/7 * * *", "2026-01-01T00:00Z", "2026-01-01T23:00Z 2026-01-02T23:00Z"],
    ["*/999999999 0 * * *", "2026-01-01T00:00Z", "2026-01-02T00:00Z 2026-01-03T00:00Z"],
  ];
  for (const [text, after, fires] of table)
    assert.equal(firesOf(parseCron(text), after, fires.split(" ").length), fires, text);
});

test("two day fields: both other than * mean either, a step on * is other than *", () => {
  const table: [string, string][] = [
    ["0 0 13 * fri", "2026-01-02T00:00Z 2026-01-09T00:00Z 2026-01-13T00:00Z 2026-01-16T00:00Z"],
    ["0 0 * * fri", "2026-01-02T00:00Z 2026-01-09T00:00Z 2026-01-16T00:00Z"],
    ["0 0 13 * ?", "2026-01-13T00:00Z 2026-02-13T00:00Z"],
    ["0 0 13 * *", "2026-01-13T00:00Z 2026-02-13T00:00Z"],
    ["0 0 */10 * sun", "2026-01-04T00:00Z 2026-01-11T00:00Z 2026-01-18T00:00Z 2026-01-21T00:00Z"],
    ["0 0 13,* * fri", "2026-01-02T00:00Z 2026-01-09T00:00Z 2026-01-16T00:00Z"],
    ["0 0 */1 * fri", "2026-01-02T00:00Z 2026-01-09T00:00Z 2026-01-16T00:00Z"],
    ["0 0 30 2 mon", "2026-02-02T00:00Z 2026-02-09T00:00Z"],
  ];
  for (const [text, fires] of table)
    assert.equal(firesOf(parseCron(text), "2026-01-01T00:00Z", fires.split(" ").length), fires, text);
});

test("C.cron.names: descriptors", () => {
  const table: [string, string][] = [
    ["@yearly", "2027-01-01T00:00Z 2028-01-01T00:00Z"],
    ["@annually", "2027-01-01T00:00Z 2028-01-01T00:00Z"],
    ["@monthly", "2026-02-01T00:00Z 2026-03-01T00:00Z"],
    ["@weekly", "2026-01-04T00:00Z 2026-01-11T00:00Z"],
    ["@daily", "2026-01-02T00:00Z 2026-01-03T00:00Z"],
    ["@midnight", "2026-01-02T00:00Z 2026-01-03T00:00Z"],
    ["@hourly", "2026-01-01T13:00Z 2026-01-01T14:00Z"],
    ["@every 1h30m", "2026-01-01T14:00Z 2026-01-01T15:30Z"],
    ["@every 60.9s", "2026-01-01T12:31Z 2026-01-01T12:32Z"],
    ["CRON_TZ=Asia/Tokyo @daily", "2026-01-01T15:00Z 2026-01-02T15:00Z"],
  ];
  for (const [text, fires] of table) assert.equal(firesOf(parseCron(text), "2026-01-01T12:30Z", 2), fires, text);
});

test("C.cron: a case-insensitive zone may come before the fields", () => {
  const table: [string, string][] = [
    ["CRON_TZ=Europe/Berlin 0 9 * * *", "2026-01-01T08:00Z 2026-01-02T08:00Z"],
    ["TZ=europe/berlin   0 9 * * *", "2026-01-01T08:00Z 2026-01-02T08:00Z"],
    ["CRON_TZ=UTC 0 9 * * *", "2026-01-01T09:00Z 2026-01-02T09:00Z"],
    ["CRON_TZ=Asia/Kolkata 0 9 * * *", "2026-01-01T03:30Z 2026-01-02T03:30Z"],
    ["CRON_TZ=Asia/Calcutta 0 9 * * *", "2026-01-01T03:30Z 2026-01-02T03:30Z"],
    ["CRON_TZ=Etc/GMT+12 0 0 1 1 *", "2026-01-01T12:00Z 2027-01-01T12:00Z"],
    ["CRON_TZ=Pacific/Kiritimati 0 0 1 1 *", "2026-12-31T10:00Z 2027-12-31T10:00Z"],
  ];
  for (const [text, fires] of table) assert.equal(firesOf(parseCron(text), "2026-01-01T00:00Z", 2), fires, text);
});

test("the text is stored as given, without blanks around it", () => {
  assert.equal(parseCron("  CRON_TZ=Europe/Berlin  0  9 * * MON ").text, "CRON_TZ=Europe/Berlin  0  9 * * MON");
  assert.equal(parseCron("\n@every 2h\n").text, "@every 2h");
});

test("rejects invalid texts with the reason", () => {
  const table: [string, string][] = [
    ["", "Empty; give five fields, such as 0 9 * * mon-fri"],
    ["   ", "Empty; give five fields, such as 0 9 * * mon-fri"],
    ["* * * *", "Expected 5 fields (minute hour day-of-month month day-of-week), found 4"],
    [
      "0 * * * * *",
      "Expected 5 fields (minute hour day-of-month month day-of-week), found 6; seconds are not supported, leave them out",
    ],
    ["60 * * * *", 'Invalid minute "60": 60 is not within 0 to 59'],
    ["* 24 * * *", 'Invalid hour "24": 24 is not within 0 to 23'],
    ["* * 0 * *", 'Invalid day of month "0": 0 is not within 1 to 31'],
    ["* * * 13 *", 'Invalid month "13": 13 is not within 1 to 12'],
    ["* * * * 7", 'Invalid day of week "7": 7 is not within 0 to 6; Sunday is 0'],
    ["* * * * fri-mon", 'Invalid day of week "fri-mon": the range ends before it begins'],
    ["*/0 * * * *", 'Invalid minute "*/0": a step is a whole number from 1'],
    ["*/ * * * *", 'Invalid minute "*/": a step is a whole number from 1'],
    ["*/-5 * * * *", 'Invalid minute "*/-5": a step is a whole number from 1'],
    ["1/2/3 * * * *", 'Invalid minute "1/2/3": expected a value, a range a-b or *, and a step after / at most'],
    ["1-2-3 * * * *", 'Invalid minute "1-2-3": expected a value, a range a-b or *, and a step after / at most'],
    ["*-5 * * * *", 'Invalid minute "*-5": expected a value, a range a-b or *, and a step after / at most'],
    ["1,,2 * * * *", 'Invalid minute "": "" is no value'],
    ["-1 * * * *", 'Invalid minute "-1": "" is no value'],
    ["1.5 * * * *", 'Invalid minute "1.5": "1.5" is no value'],
    ["1e1 * * * *", 'Invalid minute "1e1": "1e1" is no value'],
    ["mon * * * *", 'Invalid minute "mon": "mon" is no value'],
    ["* * * january *", 'Invalid month "january": "january" is no value'],
    ["* * L * *", 'Invalid day of month "L": "L" is no value'],
    ["* * * * 1#2", 'Invalid day of week "1#2": "1#2" is no value'],
    ["0 0 30 2 *", "None of the months has any of the days: the schedule would never fire"],
    ["0 0 31 4,6,9,11 *", "None of the months has any of the days: the schedule would never fire"],
    ["0 0 30-31 feb ?", "None of the months has any of the days: the schedule would never fire"],
    [
      "@reboot",
      'Unknown descriptor "@reboot"; known descriptors are @yearly @annually @monthly @weekly @daily @midnight @hourly @every',
    ],
    ["@every 1d", 'Invalid interval "1d" after @every; give one such as 1h30m'],
    ["@every -1h", 'Invalid interval "-1h" after @every; give one such as 1h30m'],
    ["@every 59.9s", "The interval after @every is shorter than one minute"],
    ["@every 8785h", "The interval after @every is longer than 366 days"],
    ["CRON_TZ=Mars/Olympus 0 9 * * *", 'Unknown time zone "Mars/Olympus"; give a name such as Europe/Berlin'],
    ["CRON_TZ=+05:30 0 9 * * *", 'Unknown time zone "+05:30"; give a name such as Europe/Berlin'],
    ["CRON_TZ= 0 9 * * *", 'Unknown time zone ""; give a name such as Europe/Berlin'],
    ["CRON_TZ=UTC", "The fields after the time zone are missing; give five fields, such as 0 9 * * mon-fri"],
    [`${"1,".repeat(128)}1 * * * *`, "Longer than 256 characters"],
  ];
  for (const [text, message] of table)
    assert.throws(
      () => parseCron(text),
      (failure) => failure instanceof InvalidCron && failure.message === message,
      text,
    );
});

test("an invalid date has no next time, and times before 1970 count as 1970", () => {
  const cron = parseCron("* * * * *");
  assert.equal(cron.nextAfterMs(Number.NaN), undefined);
  assert.equal(cron.nextAfterMs(Number.POSITIVE_INFINITY), undefined);
  assert.equal(cron.nextAfterMs(8.64e15), undefined);
  assert.equal(cron.nextAfterMs(-1), 0);
  assert.equal(cron.nextAfterMs(-1e12), 0);
  assert.equal(parseCron("CRON_TZ=America/New_York 0 19 * * *").nextAfterMs(-5), 0);
  assert.equal(cron.nextAfterMs(0.5), 60_000);
  assert.equal(parseCron("@every 1m").nextAfterMs(Number.NaN), undefined);
  assert.equal(parseCron("@every 1m").nextAfterMs(61_999), 121_000);
});

test("C.cron.summer-time: hours written with *, and all 24, use elapsed hours", () => {
  const table: [string, string, string][] = [
    // 2024-11-03: 1:59 EDT is followed by 1:00 EST.
    [
      "CRON_TZ=America/New_York 30 * * * *",
      "2024-11-03T04:00Z",
      "2024-11-03T04:30Z 2024-11-03T05:30Z 2024-11-03T06:30Z 2024-11-03T07:30Z",
    ],
    [
      "CRON_TZ=America/New_York 30 0-23 * * *",
      "2024-11-03T04:00Z",
      "2024-11-03T04:30Z 2024-11-03T05:30Z 2024-11-03T06:30Z 2024-11-03T07:30Z",
    ],
    ["CRON_TZ=America/New_York 30 1-3 * * *", "2024-11-03T04:00Z", "2024-11-03T05:30Z 2024-11-03T07:30Z"],
    // 2024-03-10: 1:59 EST is followed by 3:00 EDT.
    [
      "CRON_TZ=America/New_York 30 * * * *",
      "2024-03-10T05:00Z",
      "2024-03-10T05:30Z 2024-03-10T06:30Z 2024-03-10T07:30Z 2024-03-10T08:30Z",
    ],
    [
      "CRON_TZ=America/New_York */30 2 * * *",
      "2024-03-09T05:00Z",
      "2024-03-09T07:00Z 2024-03-09T07:30Z 2024-03-11T06:00Z",
    ],
    // 2024-10-27: 2:59 CEST is followed by 2:00 CET, an even hour.
    ["CRON_TZ=Europe/Berlin 0 */2 * * *", "2024-10-26T22:00Z", "2024-10-27T00:00Z 2024-10-27T01:00Z 2024-10-27T03:00Z"],
    // 2025-04-06: 1:59 +11:00 is followed by 1:30 +10:30.
    [
      "CRON_TZ=Australia/Lord_Howe */15 * * * *",
      "2025-04-05T14:30Z",
      "2025-04-05T14:45Z 2025-04-05T15:00Z 2025-04-05T15:15Z 2025-04-05T15:30Z",
    ],
    ["CRON_TZ=Australia/Lord_Howe */15 1 * * *", "2025-04-05T14:30Z", "2025-04-05T14:45Z 2025-04-06T14:30Z"],
    // Samoa had no 30 December 2011.
    ["CRON_TZ=Pacific/Apia 0 12 * * *", "2011-12-29T00:00Z", "2011-12-29T22:00Z 2011-12-30T22:00Z 2011-12-31T22:00Z"],
    // Monrovia's offset was -00:44:30 until 1972.
    ["CRON_TZ=Africa/Monrovia 0 0 * * *", "1971-12-31T00:00Z", "1971-12-31T00:44Z 1972-01-01T00:44Z"],
  ];
  for (const [text, after, fires] of table)
    assert.equal(firesOf(parseCron(text), after, fires.split(" ").length), fires, text);
});

interface Drawn {
  readonly zone: string;
  readonly minutes: readonly number[];
  readonly hours: readonly number[] | "*";
  readonly days: readonly number[] | "*";
  readonly weekdays: readonly number[] | "*";
  readonly monthMs: number;
}

const restlessZones = [
  "America/New_York",
  "America/St_Johns",
  "America/Sao_Paulo",
  "America/Santiago",
  "Europe/Berlin",
  "Europe/Dublin",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Asia/Tehran",
  "Asia/Beirut",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "UTC",
];

const values = (first: number, last: number) =>
  fc.uniqueArray(fc.integer({ min: first, max: last }), { minLength: 1, maxLength: 4 });
const starOr = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof(fc.constant("*" as const), arbitrary);
const drawn: fc.Arbitrary<Drawn> = fc.record({
  zone: fc.constantFrom(...restlessZones),
  minutes: values(0, 59),
  // Clocks are changed at night.
  hours: starOr(fc.oneof(values(0, 3), values(0, 23))),
  days: starOr(values(1, 31)),
  weekdays: starOr(values(0, 6)),
  monthMs: fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2036, 0) }),
});

test("a scan of all minutes by another clock finds the same times", () => {
  fc.assert(
    fc.property(drawn, ({ zone, minutes, hours, days, weekdays, monthMs }) => {
      const cron = parseCron(`CRON_TZ=${zone} ${minutes} ${hours} ${days} * ${weekdays}`);
      // Only weeks with a change of the clock are tested.
      const changeMs = findZone(zone).periodAt(monthMs).endMs;
      const nearMs = Number.isFinite(changeMs) ? changeMs : monthMs;
      const startMs = Math.floor(nearMs / 60_000) * 60_000 - 3 * 86_400_000;
      const endMs = startMs + 5 * 86_400_000;
      const clock = new Intl.DateTimeFormat("en-US", {
        timeZone: zone,
        hourCycle: "h23",
        weekday: "short",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
      });
      const shown = new Set<string>();
      const expected: number[] = [];
      for (let atMs = startMs - 86_400_000; atMs < endMs; atMs += 60_000) {
        const text = clock.format(atMs);
        const [, weekday = "", , day, hour, minute] = /^(\w+), (\d+)\/(\d+), (\d+):(\d+)$/.exec(text) ?? [];
        const isDay = days === "*" || days.includes(Number(day));
        const isWeekday = weekdays === "*" || weekdays.includes("SunMonTueWedThuFriSat".indexOf(weekday) / 3);
        const fits =
          minutes.includes(Number(minute)) &&
          (hours === "*" || hours.includes(Number(hour))) &&
          (days !== "*" && weekdays !== "*" ? isDay || isWeekday : isDay && isWeekday);
        if (fits && (hours === "*" || !shown.has(text)) && atMs >= startMs) expected.push(atMs);
        shown.add(text);
      }
      const found: number[] = [];
      for (let atMs = cron.nextAfterMs(startMs - 1); atMs !== undefined && atMs < endMs; atMs = cron.nextAfterMs(atMs))
        found.push(atMs);
      assert.deepEqual(found, expected);
    }),
    { numRuns: 40 },
  );
});

test("times increase, and a start between them finds the same ones", () => {
  fc.assert(
    fc.property(
      drawn,
      fc.double({ min: 0, max: 1, noNaN: true }),
      ({ zone, minutes, hours, days, weekdays, monthMs }, share) => {
        const cron = parseCron(`CRON_TZ=${zone} ${minutes} ${hours} ${days} * ${weekdays}`);
        const firstMs = cron.nextAfterMs(monthMs) ?? Number.NaN;
        assert.ok(firstMs > monthMs);
        assert.equal(cron.nextAfterMs(Math.floor(monthMs + (firstMs - 1 - monthMs) * share)), firstMs);
        assert.ok((cron.nextAfterMs(firstMs) ?? Number.NaN) > firstMs);
      },
    ),
    { numRuns: 200 },
  );
});

test("random text of any length is rejected with InvalidCron or has a next time", () => {
  const fieldJunk = fc.stringMatching(/^[0-9*?/,\-a-f ]{0,40}$/);
  const junk = fc.oneof(
    fc.string({ maxLength: 10_000 }),
    fieldJunk,
    fc
      .array(fc.constantFrom("*", "*/7", "1-5", "3", "?", "jan", "fri", "31", "2"), { minLength: 5, maxLength: 5 })
      .map((parts) => parts.join(" ")),
    fc
      .tuple(fc.constantFrom("CRON_TZ=", "TZ=", "@every ", "@"), fc.string({ maxLength: 300 }))
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(junk, (text) => {
      try {
        assert.ok((parseCron(text).nextAfterMs(1.8e12) ?? 0) > 1.8e12);
      } catch (failure) {
        assert.ok(failure instanceof InvalidCron, String(failure));
      }
    }),
    { numRuns: 500 },
  );
});

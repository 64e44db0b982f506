/** The next times of a schedule, by the cron code of larder: of the server's own code, the console has only this. */
import { parseCron } from "../../../../src/messaging/cron/cron.ts";
import { InvalidCron } from "../../../../src/messaging/cron/fields.ts";

const TIMES_MAX = 5;

/** In Unix ms, from the next time of the schedule on. */
export function nextTimes(cron: string, nextMs: number): readonly number[] {
  const times = [nextMs];
  try {
    const rule = parseCron(cron);
    for (let next = rule.nextAfterMs(nextMs); next !== undefined && times.length < TIMES_MAX; ) {
      times.push(next);
      next = rule.nextAfterMs(next);
    }
  } catch (error) {
    // The browser may not know a time zone that the server knows.
    if (!(error instanceof InvalidCron)) throw error;
  }
  return times;
}

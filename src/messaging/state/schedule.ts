/** A schedule: a message that is published at each time of its cron expression. */
import type { PublishOptions } from "../options/publish-request.ts";

/** The fields in the journal, without the body. */
export interface ScheduleRecord {
  readonly id: string;
  /** Trimmed, as given. */
  readonly cron: string;
  /** A URL or the name of a URL group. */
  readonly destination: string;
  readonly options: PublishOptions;
  readonly callerIp: string;
  readonly createdAtMs: number;
  readonly isPaused: boolean;
  /** The last time for which it fired; 0: never. */
  readonly lastFireMs: number;
  /** The next time; 0: never again. */
  readonly nextFireMs: number;
  /** Messages of the last firing. */
  readonly lastMessages: readonly FiredMessage[];
  /** Why the last firing published nothing; empty if it published. */
  readonly error: string;
}

export interface FiredMessage {
  readonly sequence: number;
  readonly nonce: number;
  /** Absent: not finished. */
  readonly outcome?: "SUCCESS" | "FAIL";
}

export class Schedule {
  record: ScheduleRecord;
  /** Bodies of schedules stay in memory. */
  body: Buffer;
  /** Identifies it in the heap of next times. */
  readonly number: number;

  constructor(record: ScheduleRecord, body: Buffer, number: number) {
    this.record = record;
    this.body = body;
    this.number = number;
  }
}

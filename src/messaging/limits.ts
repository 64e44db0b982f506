/** Limits of one user (C.limits, W.limits). Each is a setting of the messaging area. */

export interface MessagingLimits {
  /** Length of one message's body. */
  readonly bodyBytesMax: number;
  readonly retriesMax: number;
  readonly delayMsMax: number;
  /** Also the timeout of attempts of a message that sets none. */
  readonly timeoutMsMax: number;
  /** 0: no limit. */
  readonly messagesPerDayMax: number;
  readonly batchCountMax: number;
  readonly schedulesMax: number;
  readonly queuesMax: number;
  readonly queueParallelismMax: number;
  readonly groupsMax: number;
  readonly endpointsPerGroupMax: number;
  readonly deadLetterRetentionMs: number;
  /** Deliveries of one user under way at the same time. */
  readonly userParallelism: number;
  /** The same for one origin of one user. */
  readonly originParallelism: number;
  /** The same for all users together. */
  readonly parallelism: number;
  readonly deduplicationWindowMs: number;
  /** Length of a response, as stored for logs, dead letters, callbacks and workflow calls. */
  readonly responseBytesMax: number;
  /** Total length of long bodies that are being sent, for all users; one user may use half. */
  readonly largeCallsBytesMax: number;
  /** Entries of one workflow run. */
  readonly stepsPerRunMax: number;
  /** Total length of the entries of one workflow run. */
  readonly runBytesMax: number;
  /** How many runs may invoke one another, one to the next. */
  readonly invokeDepthMax: number;
  /** Runs that wait for one event. */
  readonly waitersPerEventMax: number;
  /** Clients that can fetch lists of entries fetch longer ones; they are not sent. */
  readonly lazyFetchBytes: number;
  /** How long an ended run is stored. */
  readonly runRetentionMs: number;
}

const DAY_MS = 86_400_000;
const MB = 1024 * 1024;

/** C.body-cut. In base64, together with its message, such a response fits into a string. */
export const RESPONSE_BYTES_MAX = 100 * MB;

export const defaultLimits: MessagingLimits = {
  bodyBytesMax: 10 * MB,
  retriesMax: 1_000,
  delayMsMax: 3 * 366 * DAY_MS,
  timeoutMsMax: 2 * 3_600_000,
  messagesPerDayMax: 0,
  batchCountMax: 10_000,
  schedulesMax: 100_000,
  queuesMax: 10_000,
  queueParallelismMax: 1_000,
  groupsMax: 10_000,
  endpointsPerGroupMax: 1_000,
  deadLetterRetentionMs: 7 * DAY_MS,
  userParallelism: 1_000,
  originParallelism: 50,
  parallelism: 2_000,
  deduplicationWindowMs: 600_000,
  responseBytesMax: 10 * MB,
  largeCallsBytesMax: 256 * MB,
  stepsPerRunMax: 10_000,
  runBytesMax: 100 * MB,
  invokeDepthMax: 100,
  waitersPerEventMax: 10_000,
  lazyFetchBytes: 4 * MB,
  runRetentionMs: 14 * DAY_MS,
};

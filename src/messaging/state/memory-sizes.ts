/**
 * Estimates of the memory that the objects of a user take, for its account
 * (`kernel/memory-guard.ts`). Fixed parts are estimates; the bytes of a caller are
 * counted. Each function is called when an object is added and again when it is
 * removed, so it depends on nothing that changes in between.
 */

/** Includes the object of its body and its entries in tables and lists. */
export const MESSAGE_BYTES = 400;
export const ENTRY_BYTES = 300;
export const QUEUE_BYTES = 1_000;
export const FLOW_KEY_BYTES = 600;
const DEDUPLICATION_BYTES = 160;
const DEAD_LETTER_BYTES = 600;
const RUN_BYTES = 1_500;
const WAITER_BYTES = 800;
const SCHEDULE_BYTES = 2_000;
const GROUP_BYTES = 400;
const ENDPOINT_BYTES = 200;
const SAVED_EVENT_BYTES = 300;

interface Response {
  readonly headers: readonly string[];
  readonly error: string;
}

interface RunParts {
  readonly url: string;
  readonly config: { readonly headers: readonly string[] };
  readonly invoker?: { readonly headers: readonly string[] } | undefined;
}

interface WaiterParts {
  readonly eventId: string;
  readonly headers: readonly string[];
  readonly timeoutHeaders: readonly string[];
  readonly timeoutBody?: string | undefined;
  readonly step: object;
}

interface GroupParts {
  readonly endpoints: readonly { readonly url: string }[];
  readonly headers?: readonly unknown[];
}

export function deduplicationBytes(key: string): number {
  return DEDUPLICATION_BYTES + key.length;
}

export function deadLetterBytes({ response }: { readonly response: Response }): number {
  return DEAD_LETTER_BYTES + lengthOf(response.headers) + response.error.length;
}

export function runBytes({ url, config, invoker }: RunParts): number {
  return RUN_BYTES + url.length + lengthOf(config.headers) + lengthOf(invoker?.headers ?? []);
}

export function waiterBytes({ eventId, headers, timeoutHeaders, timeoutBody = "", step }: WaiterParts): number {
  const stepBytes = JSON.stringify(step).length;
  return WAITER_BYTES + eventId.length + lengthOf(headers) + lengthOf(timeoutHeaders) + timeoutBody.length + stepBytes;
}

/** Includes the body, which stays in memory. */
export function scheduleBytes(body: Buffer): number {
  return SCHEDULE_BYTES + body.length;
}

export function groupBytes({ endpoints, headers = [] }: GroupParts): number {
  const urlBytes = endpoints.reduce((sum, { url }) => sum + ENDPOINT_BYTES + url.length, 0);
  return GROUP_BYTES + urlBytes + JSON.stringify(headers).length;
}

export function savedEventBytes(data: Buffer): number {
  return SAVED_EVENT_BYTES + data.length;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

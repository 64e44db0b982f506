/** What stores report of their work, for metrics. */

/** As providers count and bill them: `put` includes the parts of an upload, `delete` one request for many objects. */
export type RequestKind = "put" | "get" | "list" | "delete";

export interface StoreRequest {
  readonly kind: RequestKind;
  /** Bytes of bodies, also of an attempt that failed. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly hasFailed: boolean;
}

/** Called once for each request to a server, or for each object of a directory. */
export type StoreRequestObserver = (request: StoreRequest) => void;

/** Sums of requests. */
export interface RequestCounts {
  count: number;
  failed: number;
  sentBytes: number;
  receivedBytes: number;
}

export type StoreRequestCounts = Readonly<Record<RequestKind, RequestCounts>>;

export function noRequests(): StoreRequestCounts {
  const none = (): RequestCounts => ({ count: 0, failed: 0, sentBytes: 0, receivedBytes: 0 });
  return { put: none(), get: none(), list: none(), delete: none() };
}

export function countRequest(
  counts: StoreRequestCounts,
  { kind, sentBytes, receivedBytes, hasFailed }: StoreRequest,
): void {
  const sums = counts[kind];
  sums.count += 1;
  if (hasFailed) sums.failed += 1;
  sums.sentBytes += sentBytes;
  sums.receivedBytes += receivedBytes;
}

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

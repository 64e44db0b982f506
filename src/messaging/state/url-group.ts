/** A URL group: one name for several endpoints; each gets its own message. */

export interface Endpoint {
  readonly url: string;
  readonly name?: string;
}

export interface UrlGroup {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** Sent to every endpoint unless the publisher forwards a header of that name. Absent: none were set. */
  readonly headers?: readonly (readonly [name: string, values: string | readonly string[]])[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

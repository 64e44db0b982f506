/** What a listener allows its peers: times, rates, sizes and counts. */

export interface ListenerLimits {
  readonly headerBytesMax: number;
  /** From the first byte of a request to the end of its headers, and to the end of its body. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long a connection may rest between requests. */
  readonly keepAliveTimeoutMs: number;
  /** How long a peer may refuse to read its reply. */
  readonly stalledTimeoutMs: number;
  /** At least so many bytes of a body each second on average, once `bodyGraceMs` are over; undefined: any. */
  readonly bodyBytesPerSecondMin: number | undefined;
  readonly bodyGraceMs: number;
  readonly connectionsMax: number;
  /** Of one address, unless it is loopback or a trusted proxy; undefined: any number. */
  readonly connectionsPerAddressMax: number | undefined;
  /** Connections whose descriptor is this or above are refused; undefined: none are. */
  readonly descriptorsMax: number | undefined;
  /** Unanswered requests, all together and of one connection (HTTP pipelining). */
  readonly requestsMax: number;
  readonly requestsPerConnectionMax: number;
  /** Bodies and replies of one connection; while it has more, its next request waits. */
  readonly bytesPerConnectionMax: number;
  /** Replies of one connection that are not sent yet; while it has more, its next request waits. */
  readonly unsentPerConnectionMax: number;
  /** How long, and how many bytes, a client may go on sending a body that was refused. */
  readonly refusedMs: number;
  readonly refusedBytesMax: number;
}

export const defaultLimits: ListenerLimits = {
  headerBytesMax: 64 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  stalledTimeoutMs: 60_000,
  bodyBytesPerSecondMin: 1_024,
  bodyGraceMs: 10_000,
  connectionsMax: 10_000,
  connectionsPerAddressMax: 5_000,
  descriptorsMax: undefined,
  requestsMax: 20_000,
  requestsPerConnectionMax: 1_000,
  bytesPerConnectionMax: 32 * 1024 * 1024,
  unsentPerConnectionMax: 1024 * 1024,
  refusedMs: 2_000,
  refusedBytesMax: 16 * 1024 * 1024,
};

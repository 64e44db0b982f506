/** Limits of a listener: times, rates, sizes and counts. */

export interface ListenerLimits {
  readonly headerBytesMax: number;
  /** From the first byte of a request to the end of its headers, and to the end of its body. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long a connection may be idle between requests. */
  readonly keepAliveTimeoutMs: number;
  /** How long a peer may not read its reply. */
  readonly stalledTimeoutMs: number;
  /** The least average rate of a body after `bodyGraceMs`; undefined: no limit. */
  readonly bodyBytesPerSecondMin: number | undefined;
  readonly bodyGraceMs: number;
  readonly connectionsMax: number;
  /** For one address that is not loopback or a trusted proxy; undefined: any number. */
  readonly connectionsPerAddressMax: number | undefined;
  /** Connections with this descriptor or a higher one are refused; undefined: no limit. */
  readonly descriptorsMax: number | undefined;
  /** Unanswered requests of all connections, and of one connection (HTTP pipelining). */
  readonly requestsMax: number;
  readonly requestsPerConnectionMax: number;
  /** Bodies and replies of one connection; above it, the next request waits. */
  readonly bytesPerConnectionMax: number;
  /** Unsent replies of one connection; above it, the next request waits. */
  readonly unsentPerConnectionMax: number;
  /** How long, and how many bytes, a client may continue to send a refused body. */
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

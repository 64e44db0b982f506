/**
 * The CPU time of bytes on a connection that is outside of the measured time of
 * requests: copies between the system, TLS and us. Both kinds of listeners
 * charge it to the tenant that the bytes are for.
 */
const PLAIN_BYTE_MS = 1e-6;
const TLS_BYTE_MS = 3e-6;

/** CPU time of one byte that is read or written, in ms. */
export function byteMs(isEncrypted: boolean): number {
  return isEncrypted ? TLS_BYTE_MS : PLAIN_BYTE_MS;
}

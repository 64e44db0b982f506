/** The address of a publisher in records and deliveries. */

const MAPPED = "::ffff:";

/** Removes the prefix of an IPv4-mapped IPv6 address. */
export function callerIp(remoteAddress: string): string {
  return remoteAddress.startsWith(MAPPED) ? remoteAddress.slice(MAPPED.length) : remoteAddress;
}

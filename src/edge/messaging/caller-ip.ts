/** The address of a publisher, as records and deliveries show it. */

const MAPPED = "::ffff:";

/** An IPv4 address that came over an IPv6 socket is shown as what it is. */
export function callerIp(remoteAddress: string): string {
  return remoteAddress.startsWith(MAPPED) ? remoteAddress.slice(MAPPED.length) : remoteAddress;
}

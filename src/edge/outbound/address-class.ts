/**
 * Classes of IP addresses, for the policy of destinations (threats C-01 to C-03).
 *
 * (1) Fail-closed: an address that is not known to be public unicast, private or
 *     loopback is `reserved`.
 * (2) An IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) has the class of
 *     the IPv4 address, because packets go there.
 * (3) `0.0.0.0` and `::` are loopback: the system connects to itself.
 */
import { createRequire } from "node:module";
import type ipaddr from "ipaddr.js";

/** The package, loaded with the first address: its tables take several milliseconds of a start. */
const require = createRequire(import.meta.url);
export const loadAddresses = lazily((): typeof ipaddr => require("ipaddr.js"));

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

export type AddressClass = "public" | "private" | "loopback" | "metadata" | "reserved";

export interface ClassedAddress {
  readonly class: AddressClass;
  /** The address where packets go: keeps (2). */
  readonly address: IpAddress;
  /** The address as written. */
  readonly written: IpAddress;
  /** For metadata: the shortest prefix of an allowed network that includes it. */
  readonly prefixMin: number;
}

/**
 * Services of clouds that issue credentials to their machines. Nearly all have
 * link-local addresses, others are inside a private or a public range. A network
 * with a prefix shorter than `prefixMin` does not include them: an operator who
 * allows `fd00::/8` does not think of `fd00:ec2::254`.
 */
const METADATA: readonly { readonly network: string; readonly prefixMin: number }[] = [
  { network: "169.254.0.0/16", prefixMin: 16 },
  { network: "fe80::/10", prefixMin: 10 },
  { network: "fd00:ec2::/32", prefixMin: 64 },
  { network: "fd20:ce::254/128", prefixMin: 64 },
  { network: "fd00:42::42/128", prefixMin: 64 },
  { network: "100.100.100.200/32", prefixMin: 24 },
  { network: "168.63.129.16/32", prefixMin: 24 },
  { network: "192.0.0.192/32", prefixMin: 24 },
];

/** All allocated public IPv6 addresses (RFC 4291, 2.4). */
const PUBLIC_IPV6 = "2000::/3";
/** The well-known NAT64 prefix; the other one of RFC 8215 is for private networks. */
const NAT64 = "64:ff9b::/96";

/** The networks, parsed with the first address. */
const networks = lazily(() => {
  const { parseCIDR } = loadAddresses();
  return {
    metadata: METADATA.map(({ network, prefixMin }) => ({ cidr: parseCIDR(network), prefixMin })),
    publicIpv6: parseCIDR(PUBLIC_IPV6),
    nat64: parseCIDR(NAT64),
  };
});

/** The class of an IP address in any spelling of a URL or a look-up; undefined for other texts. */
export function classAddress(text: string): ClassedAddress | undefined {
  const bare = text.split("%", 1)[0] ?? "";
  const ipaddr = loadAddresses();
  if (!ipaddr.isValid(bare)) return undefined;
  const written = ipaddr.parse(bare);
  const address = unwrap(written);
  const found = networks().metadata.find(({ cidr }) => isInside(address, cidr));
  if (found !== undefined) return { class: "metadata", address, written, prefixMin: found.prefixMin };
  return { class: classOf(address), address, written, prefixMin: 0 };
}

export function isInside(address: IpAddress, cidr: readonly [IpAddress, number]): boolean {
  const [network, prefix] = cidr;
  return address.kind() === network.kind() && address.match(network, prefix);
}

/** keeps (1) and (3) */
function classOf(address: IpAddress): AddressClass {
  switch (address.range()) {
    case "unicast":
      return address.kind() === "ipv4" || isInside(address, networks().publicIpv6) ? "public" : "reserved";
    case "private":
    case "uniqueLocal":
      return "private";
    case "loopback":
      return "loopback";
    case "unspecified":
      return isAllZero(address) ? "loopback" : "reserved";
    default:
      return "reserved";
  }
}

/** keeps (2) */
function unwrap(address: IpAddress): IpAddress {
  if (!("parts" in address)) return address;
  const { IPv4 } = loadAddresses();
  const bytes = address.toByteArray();
  if (address.isIPv4MappedAddress() || isInside(address, networks().nat64)) return new IPv4(bytes.slice(12));
  if (address.range() === "6to4") return new IPv4(bytes.slice(2, 6));
  return address;
}

function isAllZero(address: IpAddress): boolean {
  return address.toByteArray().every((byte) => byte === 0);
}

/** A function that makes its value with the first call. */
function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

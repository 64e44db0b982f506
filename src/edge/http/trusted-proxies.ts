/**
 * The caller of a request that came through proxies: `X-Forwarded-For`, to which
 * each proxy appends the address that it saw.
 *
 * (1) The header counts only if the peer itself is trusted, since every client
 *     can send one. It is read from the right: an address counts if all addresses
 *     after it are trusted, and the first untrusted address is the caller. The
 *     addresses before it are the caller's own claim.
 * (2) `Forwarded` (RFC 7239) does not count. A proxy sets one of the two headers
 *     and forwards the other as its caller sent it, so only one can be true.
 */
import { BlockList, isIP } from "node:net";

/** The most proxies that are followed; real chains are shorter. */
const HOPS_MAX = 32;

export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /** `networks`: from `parseTrustedProxies`. */
  constructor(networks: readonly string[] = []) {
    this.#isEmpty = networks.length === 0;
    for (const network of networks) addNetwork(this.#list, network);
  }

  /** Whether the address belongs to a trusted proxy. */
  trusts(address: string): boolean {
    return !this.#isEmpty && isListed(this.#list, address);
  }

  /** The address of the caller. `forwardedFor` returns all values of the header, joined with commas. */
  callerOf(peer: string, forwardedFor: () => string | undefined): string {
    if (!this.trusts(peer)) return peer;
    const chain = forwardedFor();
    let caller = peer;
    let end = chain?.length ?? 0;
    for (let hop = 0; hop < HOPS_MAX && chain !== undefined && end > 0; hop += 1) {
      const comma = chain.lastIndexOf(",", end - 1);
      const address = addressIn(chain.slice(comma + 1, end));
      // Trusted proxies write addresses; anything else does not identify a caller.
      if (address === undefined) break;
      caller = address;
      if (!this.trusts(address)) break;
      end = comma;
    }
    return caller;
  }
}

/** Reads `CIDR|address,…`. Throws an `Error` that names the invalid item. */
export function parseTrustedProxies(text: string): readonly string[] {
  const items = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  for (const item of items) {
    const [address = "", prefix, more] = item.split("/");
    const bitsMax = isIP(address) === 4 ? 32 : 128;
    const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsMax);
    if (isIP(address) === 0 || !isPrefix || more !== undefined)
      throw new Error(`${JSON.stringify(item)} is not an address or a CIDR block`);
  }
  return items;
}

/** Whether only this machine can have the address. */
export function isLoopbackAddress(address: string): boolean {
  return isListed(loopback, address);
}

/**
 * The unit for limits by address: an IPv4 address, or the /64 network of an IPv6 address, since one host may use all
 * addresses of a /64 (RFC 4291, 2.5.4).
 */
export function addressGroup(address: string): string {
  const plain = unmapped(address);
  if (isIP(plain) !== 6) return plain;
  const [head = "", tail] = (plain.split("%", 1)[0] ?? "").split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const groups = [...first, ...new Array<string>(Math.max(0, zeros)).fill("0"), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}

/** The IPv4 address of an IPv4-mapped IPv6 address; other addresses unchanged. */
export function unmapped(address: string): string {
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
}

const MAPPED = "::ffff:";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function addNetwork(list: BlockList, network: string): void {
  const [address = "", prefix] = network.split("/");
  const family = isIP(address) === 4 ? "ipv4" : "ipv6";
  if (prefix === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(prefix), family);
}

function isListed(list: BlockList, address: string): boolean {
  const plain = unmapped(address);
  const version = isIP(plain);
  return version !== 0 && list.check(plain, version === 4 ? "ipv4" : "ipv6");
}

/** An address as proxies write it: alone, with a port (`1.2.3.4:5`, `[::1]:5`), or in brackets. */
function addressIn(written: string): string | undefined {
  const text = written.trim();
  const [, bracketed, withPort] = /^(?:\[([^\]]+)\](?::\d{1,5})?|(\d[\d.]+):\d{1,5})$/.exec(text) ?? [];
  const address = unmapped(bracketed ?? withPort ?? text);
  return isIP(address) === 0 ? undefined : address;
}

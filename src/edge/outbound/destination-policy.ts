/**
 * Which destinations may be called (threats C-01 to C-03, C-05, C-07, C-09).
 *
 *     public    public addresses
 *     private   also RFC 1918 and unique local addresses, as in Docker networks
 *     any       also loopback
 *
 * (1) Every profile refuses all other addresses unless the allow-list contains the
 *     address, its network, or the host.
 * (2) Metadata addresses are refused unless the allow-list contains the address or
 *     a small network. A listed host is not enough, because the owner of its DNS
 *     name could point it there.
 * (3) A refusal names the settings that allow the destination.
 */
import { isIP } from "node:net";
import {
  type AddressClass,
  type ClassedAddress,
  classAddress,
  type IpAddress,
  isInside,
  loadAddresses,
} from "./address-class.ts";
import { HostTable, isHostPattern, plainHost } from "./host-table.ts";

export const destinationProfiles = ["public", "private", "any"] as const;
export type DestinationProfile = (typeof destinationProfiles)[number];

const ALLOWED_CLASSES: Readonly<Record<DestinationProfile, readonly AddressClass[]>> = {
  public: ["public"],
  private: ["public", "private"],
  any: ["public", "private", "loopback"],
};

/** The name of a class in a refusal, and the setting that allows it. */
const CLASS_TEXTS: Readonly<Record<AddressClass, { readonly name: string; readonly remedy: string }>> = {
  public: { name: "a public address", remedy: "" },
  private: { name: "a private address", remedy: "set --destinations private or " },
  loopback: { name: "a loopback address", remedy: "set --destinations any or " },
  metadata: { name: "a link-local or metadata address", remedy: "" },
  reserved: { name: "not a public address", remedy: "" },
};

/**
 * Services that read lines of text, so that a request could smuggle commands to
 * them (C-07). `any` does not check ports.
 */
const BLOCKED_PORTS: ReadonlyMap<string, string> = new Map([
  ["22", "SSH"],
  ["23", "Telnet"],
  ["25", "SMTP"],
  ["110", "POP3"],
  ["143", "IMAP"],
  ["465", "SMTP"],
  ["587", "SMTP"],
  ["993", "IMAP"],
  ["995", "POP3"],
  ["6379", "Redis"],
  ["11211", "memcached"],
]);

/**
 * Reads `CIDR|address|host|*.suffix,…` into its items, in lower case. Throws an
 * `Error` that names the invalid item.
 */
export function parseAllowedDestinations(text: string): readonly string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .map((item) => {
      if (!isNetwork(item) && !isHostPattern(item)) {
        throw new Error(`${JSON.stringify(item)} is not a CIDR block, an address, a host name or *.suffix`);
      }
      return item.toLowerCase();
    });
}

/** The policy of a profile and an allow-list. Throws an `Error` that names the invalid item. */
export function parseDestinations(profile: DestinationProfile, allowList: readonly string[]): DestinationPolicy {
  return new DestinationPolicy(profile, parseAllowedDestinations(allowList.join(",")));
}

/** The part of a policy that the outbound client uses. */
export type DestinationGuard = Pick<DestinationPolicy, "refusalOf" | "refusalOfAddress">;

export class DestinationPolicy {
  readonly #profile: DestinationProfile;
  readonly #networks: readonly (readonly [IpAddress, number])[];
  readonly #hosts: HostTable<true>;

  /** Use `parseDestinations`, which checks the items. */
  constructor(profile: DestinationProfile, allowed: readonly string[]) {
    this.#profile = profile;
    this.#networks = allowed
      .filter((item) => isIP(item) !== 0 || isNetwork(item))
      .map((item) => {
        const { parse, parseCIDR } = loadAddresses();
        return item.includes("/") ? parseCIDR(item) : wholeAddress(parse(item));
      });
    this.#hosts = new HostTable(allowed.filter((item) => !isNetwork(item)).map((host) => [host, true]));
  }

  /**
   * Why a URL is not called, as one sentence, or undefined. Checks only the text:
   * scheme, user, port, and a host that is an address or localhost. Other names are
   * checked when they are resolved.
   */
  refusalOf(url: URL): string | undefined {
    const shape = shapeRefusalOf(url);
    if (shape !== undefined) return shape;
    const host = plainHost(url);
    const service = this.#profile === "any" ? undefined : BLOCKED_PORTS.get(url.port);
    if (service !== undefined && !this.#isListed(host)) {
      return `The destination ${host} is refused at port ${url.port} (${service}): list the host in --allow-destination`;
    }
    if (host === "localhost" || host.endsWith(".localhost")) return this.refusalOfAddress("127.0.0.1", host);
    return isIP(host) === 0 ? undefined : this.refusalOfAddress(host, host);
  }

  /** Why an address of a host is not called, as one sentence, or undefined. The host may be the address itself. */
  refusalOfAddress(address: string, host: string): string | undefined {
    const classed = classAddress(address);
    if (classed === undefined) return `The destination ${host} has no IP address: ${address}`;
    if (this.#allows(classed, host)) return undefined;
    const { name, remedy } = CLASS_TEXTS[classed.class];
    const which = address === host ? host : `${host} (${address})`;
    return `The destination ${which} is ${name}, which --destinations ${this.#profile} refuses: ${remedy}list it in --allow-destination`;
  }

  /** keeps (1) and (2) */
  #allows(classed: ClassedAddress, host: string): boolean {
    if (ALLOWED_CLASSES[this.#profile].includes(classed.class)) return true;
    if (this.#hasNetworkAround(classed)) return true;
    return classed.class !== "metadata" && this.#hosts.find(host) !== undefined;
  }

  #hasNetworkAround(classed: ClassedAddress): boolean {
    return this.#networks.some(
      (cidr) => cidr[1] >= classed.prefixMin && (isInside(classed.address, cidr) || isInside(classed.written, cidr)),
    );
  }

  #isListed(host: string): boolean {
    if (this.#hosts.find(host) !== undefined) return true;
    const classed = classAddress(host);
    return classed !== undefined && this.#hasNetworkAround(classed);
  }
}

/** Why a URL can never be called, with any setting, or undefined. */
export function shapeRefusalOf(url: URL): string | undefined {
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return `The destination is not an http or https URL but ${url.protocol.slice(0, -1)}`;
  }
  if (url.username !== "" || url.password !== "") {
    return "The destination has a user or a password in its URL: send an Authorization header instead";
  }
  return url.port === "0" ? `The destination ${plainHost(url)} has port 0` : undefined;
}

/** `address/prefix` with a valid prefix. */
function isNetwork(item: string): boolean {
  const [, address = "", prefix = ""] = /^([^/]+)\/(\d{1,3})$/.exec(item) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}

function wholeAddress(address: IpAddress): readonly [IpAddress, number] {
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

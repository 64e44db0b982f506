/**
 * The outbound map: hosts that are called at another address than DNS says
 * (C.delivery.address). The operator writes it, so it contains IP addresses and
 * the policy does not apply.
 */
import { isIP } from "node:net";
import { isHostPattern } from "./host-table.ts";

/** The address for one host or suffix. */
export interface OutboundMapping {
  /** A host name or an address in lower case, or `*.suffix`. */
  readonly host: string;
  /** An IP address. */
  readonly address: string;
  readonly port: number;
}

/** Plain data, so that it can be sent to a thread. */
export type OutboundMap = readonly OutboundMapping[];

const PORT_MAX = 65_535;

/**
 * Reads `host=address:port,*.suffix=address:port,…`, with IPv6 addresses in
 * brackets. Throws an `Error` that names the invalid item.
 */
export function parseOutboundMap(text: string): OutboundMap {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .map(parseMapping);
}

function parseMapping(item: string): OutboundMapping {
  const [, host = "", bracketed, plain, digits = ""] = /^([^=]+)=(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(item) ?? [];
  const address = bracketed ?? plain ?? "";
  const port = Number(digits);
  if (!isHostPattern(host) || isIP(address) === 0 || port < 1 || port > PORT_MAX) {
    throw new Error(`${JSON.stringify(item)} is not host=address:port or *.suffix=address:port`);
  }
  return { host: host.toLowerCase(), address, port };
}

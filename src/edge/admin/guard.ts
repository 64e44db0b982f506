/**
 * Keeps pages of other sites away from the admin port (threats S-14). It is the
 * outermost service of the port, in `larder dev` too.
 *
 * (1) A request is answered if its Host is an IP address, `localhost` or a listed
 *     name. A browser that was led to this port by a name that now resolves to it
 *     (DNS rebinding) sends that name, and an address cannot be rebound.
 * (2) Open routes (health, version, metrics) return nothing confidential. If the
 *     port is not on a loopback address, monitoring may reach it by any name, as
 *     everyone in its network may: open routes are then answered for any Host, if
 *     nothing else shows a browser. A loopback port has this machine's programs
 *     as its clients, which know it as an address or as localhost; for it (1)
 *     holds on every route.
 * (3) A request whose Origin is not that of its own Host, or whose Sec-Fetch-Site
 *     says that another site made it, is refused on every route.
 * (4) No answer has CORS headers. A preflight request has a foreign Origin, so (3)
 *     refuses it.
 */
import { isIP } from "node:net";
import { foreignOrigin, foreignSite, hostNotAllowed, type RequestFailure } from "../errors.ts";
import type { HttpReply, HttpService, RequestHead } from "../handler.ts";
import { isLoopbackAddress } from "../http/trusted-proxies.ts";
import { failureReply } from "../respond.ts";

export interface GuardOptions {
  /** The address that the port listens on, as it was set. */
  readonly listenHost: string;
  readonly isEncrypted: boolean;
  /** Further names, in lower case. */
  readonly allowedHosts: readonly string[];
  /** Whether a target needs no token. */
  readonly isOpen: (target: string) => boolean;
  /** Headers of a refusal: name, value, … */
  readonly headers: readonly string[];
}

/** The area for requests that no page of another site can have made. */
export function guarded(area: HttpService, options: GuardOptions): HttpService {
  const refusal = (head: RequestHead): HttpReply | undefined => {
    const failure = guardFailure(head, options);
    return failure && { ...failureReply(failure, options.headers), route: "admin refused" };
  };
  return {
    ...area,
    handle: (request) => refusal(request) ?? area.handle(request),
    bodyBytesMax: (target) => area.bodyBytesMax(target),
    refuseEarly: (head) => refusal(head) ?? area.refuseEarly?.(head),
  };
}

/** Why a request is refused; undefined: it may be answered. */
export function guardFailure(
  head: RequestHead,
  { listenHost, isEncrypted, allowedHosts, isOpen }: GuardOptions,
): RequestFailure | undefined {
  const site = head.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") return foreignSite; // keeps (3)
  const host = head.header("host");
  const origin = head.header("origin");
  const name = host === undefined ? undefined : hostNameIn(host);
  const isListed = name !== undefined && (allowedHosts.includes(name) || name === listenHost.toLowerCase());
  if (origin !== undefined) {
    // A proxy in front of a listed name may speak TLS.
    const schemes = isEncrypted ? ["https"] : isListed ? ["http", "https"] : ["http"];
    if (!schemes.some((scheme) => origin === `${scheme}://${host?.toLowerCase()}`)) return foreignOrigin; // keeps (3)
  }
  // Only HTTP/1.0 may omit it, which no browser speaks.
  if (host === undefined || isListed) return undefined;
  if (name !== undefined && (name === "localhost" || isIP(name) !== 0)) return undefined; // keeps (1)
  const isFromBrowser = origin !== undefined || site !== undefined;
  if (!isFromBrowser && !isLoopbackHost(listenHost) && isOpen(head.target)) return undefined; // keeps (2)
  return hostNotAllowed(name ?? host);
}

/** A Host header: a name, an IPv4 address, or an IPv6 address in brackets, and a port. */
const HOST = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::\d{1,5})?$/;

/** The name or the address, in lower case and without brackets; undefined if it has another form. */
function hostNameIn(host: string): string | undefined {
  const [, address, name] = HOST.exec(host) ?? [];
  return (address ?? name)?.toLowerCase();
}

function isLoopbackHost(host: string): boolean {
  return host === "localhost" || isLoopbackAddress(host);
}

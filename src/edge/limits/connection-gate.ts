/**
 * Decides which connections a listener accepts (threats S-01).
 *
 * (1) One address has at most `perAddressMax` connections (a /64 network of IPv6
 *     counts as one address), so that it cannot take all. Loopback and trusted
 *     proxies may have any number: they carry many callers.
 * (2) The last descriptors of the process are not for connections, so that it can
 *     open files and the admin port can answer when connections take all others.
 *     Without descriptors the system would reset connections without a message.
 * (3) Refusals are counted by reason, and logged once a minute.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { ByteStream } from "../forward/byte-stream.ts";
import { addressGroup, isLoopbackAddress, type TrustedProxies } from "../http/trusted-proxies.ts";

/** Why a connection was refused: too many on the port, too many of the address, or too few descriptors. */
export const connectionRefusals = ["port", "address", "descriptors"] as const;

export type ConnectionRefusal = (typeof connectionRefusals)[number];

export interface ConnectionGateOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly proxies: TrustedProxies;
  /** Undefined: any number. */
  readonly perAddressMax: number | undefined;
  /** Connections with this descriptor or a higher one are refused; undefined: no limit. */
  readonly descriptorsMax?: number | undefined;
  readonly onRefused?: ((reason: ConnectionRefusal) => void) | undefined;
}

const LOG_INTERVAL_MS = 60_000;

export class ConnectionGate {
  readonly #options: ConnectionGateOptions;
  readonly #countByAddress = new Map<string, number>();
  /** Refusals since the last log line. */
  #unloggedCount = 0;
  #loggedAtMs: number | undefined;

  constructor(options: ConnectionGateOptions) {
    this.#options = options;
  }

  /**
   * Why a connection is refused, or undefined. The caller closes it. `remoteAddress` differs from that of the socket if another
   * node passes the connection on.
   */
  refusalOf(socket: ByteStream, remoteAddress = socket.remoteAddress): ConnectionRefusal | undefined {
    const { perAddressMax, proxies } = this.#options;
    if (this.lacksDescriptors(socket)) return this.refused("descriptors", remoteAddress);
    // The peer has disconnected already.
    if (remoteAddress === undefined || perAddressMax === undefined) return undefined;
    if (isLoopbackAddress(remoteAddress) || proxies.trusts(remoteAddress)) return undefined;
    const group = addressGroup(remoteAddress);
    const count = (this.#countByAddress.get(group) ?? 0) + 1;
    if (count > perAddressMax) return this.refused("address", remoteAddress);
    this.#countByAddress.set(group, count);
    socket.once("close", () => this.#left(group));
    return undefined;
  }

  /** Whether the socket has one of the last descriptors. keeps (2): the system gives the lowest free number. */
  lacksDescriptors(socket: ByteStream): boolean {
    const { descriptorsMax } = this.#options;
    return descriptorsMax !== undefined && descriptorOf(socket) >= descriptorsMax;
  }

  /** Counts a refusal, also one that was decided elsewhere. keeps (3) */
  refused(reason: ConnectionRefusal, address: string | undefined): ConnectionRefusal {
    const { clock, log, onRefused } = this.#options;
    onRefused?.(reason);
    this.#unloggedCount += 1;
    const nowMs = clock.monotonicMs();
    if (this.#loggedAtMs !== undefined && nowMs - this.#loggedAtMs < LOG_INTERVAL_MS) return reason;
    this.#loggedAtMs = nowMs;
    log.warn("connections are refused", { reason, address, count: this.#unloggedCount });
    this.#unloggedCount = 0;
    return reason;
  }

  #left(group: string): void {
    const count = (this.#countByAddress.get(group) ?? 1) - 1;
    if (count === 0) this.#countByAddress.delete(group);
    else this.#countByAddress.set(group, count);
  }
}

/** The file descriptor, which Node has only in a private field; -1, which is never refused, without that field or a descriptor. */
function descriptorOf(socket: ByteStream): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: unknown } | null };
  return typeof handle?.fd === "number" ? handle.fd : -1;
}

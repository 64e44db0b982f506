/**
 * Which connections a listener takes (threats S-01).
 *
 * (1) One address has at most `perAddressMax` (all of a network of 64 bits of
 *     IPv6 counts as one), so that it cannot have them all. Loopback and
 *     trusted proxies may have any number: behind them are many callers.
 * (2) The last descriptors of the process are not for connections: files are
 *     opened and the admin port answers also when somebody takes all the rest.
 *     Without room the system would reset connections and tell nobody.
 * (3) What is refused is counted by reason, and told once a minute.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { addressGroup, isLoopbackAddress, type TrustedProxies } from "../http/trusted-proxies.ts";

/** Why a connection was refused: the port has its most, the address has, or descriptors are short. */
export const connectionRefusals = ["port", "address", "descriptors"] as const;

export type ConnectionRefusal = (typeof connectionRefusals)[number];

export interface ConnectionGateOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly proxies: TrustedProxies;
  /** Undefined: any number. */
  readonly perAddressMax: number | undefined;
  /** Connections whose descriptor is this or above are refused; undefined: none are. */
  readonly descriptorsMax?: number | undefined;
  readonly onRefused?: ((reason: ConnectionRefusal) => void) | undefined;
}

const TELL_MS = 60_000;

export class ConnectionGate {
  readonly #options: ConnectionGateOptions;
  readonly #countByAddress = new Map<string, number>();
  /** Refused since it was last told. */
  #untoldCount = 0;
  #toldAtMs: number | undefined;

  constructor(options: ConnectionGateOptions) {
    this.#options = options;
  }

  /** Why a connection is not taken, or undefined. What to do with it then is the caller's business. */
  refusalOf(socket: Socket): ConnectionRefusal | undefined {
    const { descriptorsMax, perAddressMax, proxies } = this.#options;
    // keeps (2): the system gives the lowest number that is free.
    if (descriptorsMax !== undefined && descriptorOf(socket) >= descriptorsMax) {
      return this.refused("descriptors", socket.remoteAddress);
    }
    const { remoteAddress } = socket;
    // It has gone already.
    if (remoteAddress === undefined || perAddressMax === undefined) return undefined;
    if (isLoopbackAddress(remoteAddress) || proxies.trusts(remoteAddress)) return undefined;
    const group = addressGroup(remoteAddress);
    const count = (this.#countByAddress.get(group) ?? 0) + 1;
    if (count > perAddressMax) return this.refused("address", remoteAddress);
    this.#countByAddress.set(group, count);
    socket.once("close", () => this.#left(group));
    return undefined;
  }

  /** Notes a refusal, also one that was decided elsewhere. keeps (3) */
  refused(reason: ConnectionRefusal, address: string | undefined): ConnectionRefusal {
    const { clock, log, onRefused } = this.#options;
    onRefused?.(reason);
    this.#untoldCount += 1;
    const nowMs = clock.monotonicMs();
    if (this.#toldAtMs !== undefined && nowMs - this.#toldAtMs < TELL_MS) return reason;
    this.#toldAtMs = nowMs;
    log.warn("connections are refused", { reason, address, count: this.#untoldCount });
    this.#untoldCount = 0;
    return reason;
  }

  #left(group: string): void {
    const count = (this.#countByAddress.get(group) ?? 1) - 1;
    if (count === 0) this.#countByAddress.delete(group);
    else this.#countByAddress.set(group, count);
  }
}

/** Node says it nowhere else; where it does not say it, nothing is refused for it. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: unknown } | null };
  return typeof handle?.fd === "number" ? handle.fd : -1;
}

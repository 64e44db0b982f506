/**
 * File descriptors: how many the process may have, how many are reserved, and
 * whether they run out.
 *
 * At the limit the system resets connections silently, and journal files cannot
 * be opened. So the last descriptors are not for connections
 * (edge/connection-gate.ts), and a probe reports when they run out anyway.
 */
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import { codeOf } from "../refusal.ts";

/** Reserved for segments, snapshots, backups, SQLite and the admin port; at most a quarter of all. */
const RESERVED_MAX = 64;
const RESERVED_SHARE = 4;

const PROBE_MS = 1_000;
/** How long a shortage is reported: a probe each second sees few of the moments. */
const SAID_MS = 10_000;
const TELL_MS = 60_000;

/** The most descriptors that the process may have; undefined if the system does not report it. */
export function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Connections may have the descriptors below this one; undefined: all. */
export function descriptorsForConnections(limit: number | undefined = descriptorLimit()): number | undefined {
  return limit === undefined ? undefined : limit - Math.min(RESERVED_MAX, Math.floor(limit / RESERVED_SHARE));
}

export interface DescriptorWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limit: number | undefined;
  /** The lowest free descriptor; undefined if all are in use. Absent: queries the system. */
  readonly probe?: () => number | undefined;
}

export class DescriptorWatch {
  readonly #options: DescriptorWatchOptions;
  #shortAtMs: number | undefined;
  #reportedAtMs: number | undefined;
  #cancel: () => void = () => {};

  constructor(options: DescriptorWatchOptions) {
    const { limit, metrics } = options;
    this.#options = options;
    measureDescriptors(metrics, { limit, isShort: () => this.reason !== undefined });
    this.#probe();
  }

  /** Why the process is not ready, or undefined. */
  get reason(): string | undefined {
    const { clock, limit } = this.#options;
    if (this.#shortAtMs === undefined || clock.monotonicMs() - this.#shortAtMs >= SAID_MS) return undefined;
    const most = limit === undefined ? "" : ` of ${limit}`;
    return `too few file descriptors: raise the limit${most} (ulimit -n, LimitNOFILE)`;
  }

  stop(): void {
    this.#cancel();
  }

  #probe(): void {
    const { clock, limit, log, probe = lowestFree } = this.#options;
    this.#cancel = clock.after(PROBE_MS, () => this.#probe());
    const free = probe();
    const isShort = free === undefined || free >= (descriptorsForConnections(limit) ?? Number.POSITIVE_INFINITY);
    if (!isShort) return;
    const nowMs = clock.monotonicMs();
    this.#shortAtMs = nowMs;
    if (this.#reportedAtMs !== undefined && nowMs - this.#reportedAtMs < TELL_MS) return;
    this.#reportedAtMs = nowMs;
    log.warn("too few file descriptors: connections are refused", { limit, remedy: "ulimit -n, or LimitNOFILE" });
  }
}

/** Registers the figures of descriptors. */
export function measureDescriptors(
  metrics: Metrics,
  { limit, isShort }: { readonly limit: number | undefined; readonly isShort: () => boolean },
): void {
  metrics.reading("process_max_fds", "Most file descriptors that the process may have; 0: unknown", () => limit ?? 0);
  metrics.reading(
    "larder_descriptors_short",
    "1 while connections are refused because there are too few file descriptors",
    () => (isShort() ? 1 : 0),
  );
}

/** The system assigns the lowest free number. */
function lowestFree(): number | undefined {
  try {
    const descriptor = openSync("/dev/null", "r");
    closeSync(descriptor);
    return descriptor;
  } catch (fault) {
    if (["EMFILE", "ENFILE"].includes(codeOf(fault) ?? "")) return undefined;
    throw fault;
  }
}

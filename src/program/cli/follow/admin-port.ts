/**
 * The admin port of `larder follow`, until the promoted server takes it over: health,
 * version and metrics, with the same protections. It says nothing that needs a token,
 * because it may have none: the tokens come with the copy.
 *
 * (1) It is opened only if `--admin-port` is set. On the default port a follower could keep a
 *     server of this machine, which starts after it, from its own.
 * (2) It is free again when `close` has resolved, and the server binds it then.
 */
import { guarded } from "../../../edge/admin/guard.ts";
import { guardHeaders, isOpenTarget, openAdminArea, type Readiness } from "../../../edge/admin/routes.ts";
import { followsOnly } from "../../../edge/errors.ts";
import type { HttpService } from "../../../edge/handler.ts";
import { IN_FLIGHT_BYTES_MAX } from "../../../edge/http/listener.ts";
import { ByteBudget } from "../../../edge/limits/byte-budget.ts";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
import { faultFields, type Log } from "../../../kernel/log.ts";
import { Metrics, printMetrics } from "../../../kernel/metrics.ts";
import { freeBytesNow } from "../../../persistence/disk/disk-usage.ts";
import type { AppliedFigures } from "../../../replication/follow/followed-area.ts";
import { STORED_AREAS } from "../../directory/data-directory.ts";
import { fileFormats } from "../../facts.ts";
import { addressOf } from "../../listeners/address.ts";
import { measureListeners, openListener } from "../../listeners/listener.ts";
import {
  type FollowerPhase,
  type MeasuredFollower,
  measureFollowedArea,
  measureFollower,
} from "../../metrics/follower.ts";
import { measureDisk, measureProcess, measureThread } from "../../metrics/thread.ts";
import { adminListenPlan, peerLimits } from "../../settings/plan.ts";
import type { RunSettings } from "../../settings/run-settings.ts";

export interface WatchedFollower extends MeasuredFollower {
  /** Of an area; undefined: nothing was applied yet. */
  applied(area: string): AppliedFigures | undefined;
}

export interface FollowerPortOptions {
  readonly run: RunSettings;
  readonly version: string;
  readonly log: Log;
  readonly directory: string;
  readonly follower: WatchedFollower;
}

export interface FollowerPort {
  /** Repeated calls do no harm. keeps (2) */
  close(): Promise<void>;
}

/** A metrics request takes less. After this its connection is cut, so that the port is not refused for long. */
const CLOSE_MS = 250;

const reasons: Readonly<Record<FollowerPhase, string>> = {
  waiting: "the directory follows a copy that has nothing yet",
  fetching: "the directory follows a copy, and cannot be promoted before it has fetched a whole state",
  following: "the directory follows a copy: larder promote makes it the server",
  promoting: "the directory is being promoted",
};

/** Undefined: the port is not set. Rejects with a `StartRefusal` if it is taken, as the server would be refused later. */
export async function openFollowerPort(options: FollowerPortOptions): Promise<FollowerPort | undefined> {
  const { run, version, log, directory, follower } = options;
  if (run.origins.adminPort.source === "default") return undefined; // keeps (1)
  const plan = adminListenPlan(run);
  const metrics = new Metrics();
  const figures = measureListeners(metrics);
  const service = followerService({
    ...{ version, log, clock: systemClock, follower, metrics },
    ...{ listenHost: plan.host, isEncrypted: plan.tls !== undefined, allowedHosts: run.settings.adminAllowedHosts },
  });
  const budget = new ByteBudget(IN_FLIGHT_BYTES_MAX);
  const { headerBytesMax } = run.settings;
  const listener = await openListener(
    service,
    { listen: plan, headerBytesMax, peers: peerLimits(run), name: "admin", isReserved: true },
    { clock: systemClock, log, budget, figures },
  );
  const stopMeasuring = measureThread(metrics);
  measureProcess(metrics, version);
  measureDisk(metrics, () => freeBytesNow(directory));
  log.info("health and metrics are on the admin port", { url: addressOf(plan, listener.port) });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    stopMeasuring();
    await listener.close(CLOSE_MS);
  };
  return {
    close() {
      closed ??= close();
      return closed;
    },
  };
}

export interface FollowerServiceOptions extends Pick<FollowerPortOptions, "version" | "log" | "follower"> {
  readonly clock: Pick<Clock, "nowMs">;
  /** Of the process; those of the follower are added. */
  readonly metrics: Metrics;
  readonly listenHost: string;
  readonly isEncrypted: boolean;
  readonly allowedHosts: readonly string[];
}

/** The service of the port. */
export function followerService(options: FollowerServiceOptions): HttpService {
  const { version, log, clock, follower, metrics, ...rules } = options;
  const ofFollower = new Metrics();
  measureFollower(ofFollower, follower);
  const ofAreas = STORED_AREAS.map((area) => {
    const areaMetrics = new Metrics();
    measureFollowedArea(areaMetrics, {
      nowMs: () => clock.nowMs(),
      completeToMs: () => follower.record().areas.find(({ name }) => name === area)?.completeToMs,
      applied: () => follower.applied(area),
    });
    return { labels: { area }, metrics: areaMetrics };
  });
  const service = openAdminArea(
    {
      readiness: () => readinessOf(follower.phase()),
      version: { version, node: process.versions.node, formats: fileFormats },
      metrics: async () =>
        printMetrics(
          [{ labels: { area: "main" }, metrics }, { labels: {}, metrics: ofFollower }, ...ofAreas].map(
            ({ labels, metrics }) => ({ labels, families: metrics.snapshot() }),
          ),
        ),
      onFault: (fault, requestId) => log.error("request failed", { requestId, ...faultFields(fault) }),
    },
    followsOnly,
  );
  return guarded(service, { ...rules, isOpen: isOpenTarget, headers: guardHeaders });
}

/** It has started, or a probe would end a process that may follow for months. */
function readinessOf(phase: FollowerPhase): Readiness {
  const areas = Object.fromEntries(STORED_AREAS.map((area) => [area, phase]));
  return { isReady: false, hasStarted: true, areas, reasons: [reasons[phase]] };
}

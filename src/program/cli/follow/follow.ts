/**
 * `larder follow <address>`: keeps a directory up to date with a copy, and becomes its
 * server when `larder promote` asks for it.
 *
 *     lock -> first fetch -> follow -> (a request) last fetch -> verify -> serve, with the same lock
 *                               \-> SIGTERM, SIGINT, SIGHUP: ends, and another start continues
 *
 * (1) Only a request promotes: no time, no silence of the copy, no restart.
 */
import { constants } from "node:os";
import { systemClock } from "../../../kernel/clock.ts";
import type { Log } from "../../../kernel/log.ts";
import type { OnBytes } from "../../../persistence/byte-progress.ts";
import { NewerFormat } from "../../../persistence/errors.ts";
import { UnusableCopy } from "../../../replication/errors.ts";
import type { FollowedCopy } from "../../../replication/follow/followed-copy.ts";
import { Follower, LastFetchFailed } from "../../../replication/follow/follower.ts";
import { NotFollowing } from "../../../replication/follow/promotion.ts";
import type { ObjectStore } from "../../../replication/objects/object-store.ts";
import {
  countRequest,
  noRequests,
  type StoreRequest,
  type StoreRequestCounts,
} from "../../../replication/objects/store-requests.ts";
import { readCertificate } from "../../listeners/certificate.ts";
import { directoryRefusal, StartRefusal } from "../../refusal.ts";
import { runServer } from "../../run-server.ts";
import { respPlan, tlsPlan } from "../../settings/plan.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { formatFor, stderrLog } from "../../stderr.ts";
import { noteFromCommandLine } from "../../tenants/audit-log.ts";
import { resolveTenants } from "../../tenants/tokens.ts";
import { reportBytes } from "../progress.ts";
import { type FollowerPort, openFollowerPort, type WatchedFollower } from "./admin-port.ts";
import { followedPath, lockFollowed, nameOf, openFollowed, promoteFollowed } from "./followed-directory.ts";
import {
  type PromotionRequest,
  readRequest,
  removePromotionFiles,
  removeRequest,
  writeAnswer,
} from "./promotion-files.ts";

export interface FollowOptions {
  readonly address: string;
  /** Between two looks at the copy. */
  readonly intervalMs: number;
  readonly version: string;
  readonly print: (line: string) => void;
}

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** How often a request is looked for. */
const LOOK_MS = 250;

/** Resolves when the process serves. Rejects with a `StartRefusal`. */
export async function follow(run: RunSettings, { address, intervalMs, version, print }: FollowOptions): Promise<void> {
  const directory = followedPath(run);
  assertServable(run);
  const lock = await lockFollowed(directory, run.origins.dataDirectory.place);
  const log = stderrLog(run.settings.logLevel, formatFor(run.settings.logFormat));
  const stop = { isWanted: false, now: (): void => {} };
  const unhandle = onStopSignals(stop, log);
  let following: Following | undefined;
  let port: FollowerPort | undefined;
  try {
    lock.watch({ log, onLost: () => process.exit(1) });
    removePromotionFiles(directory);
    following = await Following.open({ run, address, directory, intervalMs, log, stop });
    port = await openFollowerPort({ run, version, log, directory, follower: following.watched });
    print(`following ${following.name} in ${directory}: larder promote ${directory} makes it the server`);
    if (!(await following.untilPromoted())) return;
    unhandle();
    await runServer(run, { version, lock, freeAdminPort: async () => port?.close() });
  } catch (fault) {
    lock.release();
    throw directoryRefusal(fault, directory, run.origins.dataDirectory.place);
  } finally {
    unhandle();
    await port?.close();
    await following?.close();
    if (stop.isWanted) {
      lock.release();
      log.info("stopped");
      process.exit(0);
    }
  }
}

interface Stop {
  isWanted: boolean;
  /** Ends what is under way. */
  now: () => void;
}

function onStopSignals(stop: Stop, log: Log): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.isWanted) process.exit(128 + constants.signals[signal]);
    log.info("stopping", { signal });
    stop.isWanted = true;
    stop.now();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of STOP_SIGNALS) process.removeListener(signal, onSignal);
  };
}

/** Throws a `StartRefusal` for what would refuse the server: the day on which it is needed is a bad one to learn it. */
function assertServable(run: RunSettings): void {
  const { problems } = resolveTenants(run, {});
  if (problems.length > 0) throw new StartRefusal(problems.join("\n"), 2);
  for (const tls of [tlsPlan(run), run.settings.respPort === undefined ? undefined : respPlan(run).tls])
    if (tls !== undefined) readCertificate(tls);
}

interface FollowingOptions {
  readonly run: RunSettings;
  readonly address: string;
  readonly directory: string;
  readonly intervalMs: number;
  readonly log: Log;
  readonly stop: Stop;
}

class Following {
  readonly name: string;
  readonly #options: FollowingOptions;
  readonly #copy: FollowedCopy;
  readonly #store: ObjectStore;
  readonly #follower: Follower;
  #cancel: () => void = () => {};
  #closing: Promise<void> | undefined;
  /** While the first fetch is under way. */
  #onBytes: OnBytes | undefined;
  readonly #requests: StoreRequestCounts;
  #isPromoting = false;

  private constructor(
    options: FollowingOptions,
    { copy, store, name }: { readonly copy: FollowedCopy; readonly store: ObjectStore; readonly name: string },
    requests: StoreRequestCounts,
  ) {
    const { log, intervalMs } = options;
    this.#options = options;
    this.#copy = copy;
    this.#store = store;
    this.name = name;
    this.#requests = requests;
    this.#follower = new Follower({ copy, store, clock: systemClock, log, intervalMs });
  }

  static async open(options: FollowingOptions): Promise<Following> {
    const requests = noRequests();
    const onBytes: OnBytes = (...progress) => following.#onBytes?.(...progress);
    const onRequest = (request: StoreRequest): void => countRequest(requests, request);
    const opened = await openFollowed(options.run, { ...options, onBytes, onRequest });
    const following: Following = new Following(options, opened, requests);
    return following;
  }

  /** Its state, for the admin port. */
  get watched(): WatchedFollower {
    return {
      phase: () => (this.#isPromoting ? "promoting" : this.#copy.record.phase),
      record: () => this.#copy.record,
      failures: () => this.#follower.failures,
      requests: () => this.#requests,
      applied: (area) => this.#copy.figuresOf(area),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancel();
    await this.#follower.close();
    await this.#store.close();
  }

  /** Follows. False: the process was told to stop. Rejects with a `StartRefusal` if the copy can never be followed here. */
  async untilPromoted(): Promise<boolean> {
    const { directory, stop } = this.#options;
    const stopped = Promise.withResolvers<undefined>();
    stop.now = () => {
      this.#cancel();
      stopped.resolve(undefined);
    };
    if (stop.isWanted) stop.now();
    // A directory that is only compared again can be promoted meanwhile.
    const refused = this.#fetchFirst();
    refused.catch(() => {}); // It may be handled too late, after a stop.
    for (;;) {
      this.#follower.start();
      const request = await Promise.race([this.#nextRequest(), stopped.promise, refused]).catch(
        async (fault: unknown) => {
          await this.close();
          throw fault;
        },
      );
      if (request === undefined) {
        await this.close();
        return false;
      }
      removeRequest(directory);
      if (await this.#promote(request)) return true;
    }
  }

  /** Rejects with a `StartRefusal` for a reason that does not pass; otherwise it never resolves, as the loop tries again. */
  async #fetchFirst(): Promise<never> {
    const fault = await reportBytes(this.#options.run, async (onBytes) => {
      this.#onBytes = onBytes;
      const failure = await this.#follower.attempt();
      this.#onBytes = undefined;
      return failure;
    });
    if (fault instanceof UnusableCopy || fault instanceof NewerFormat)
      throw new StartRefusal(fault.message, 1, { cause: fault });
    return new Promise<never>(() => {});
  }

  /** keeps (1) */
  async #nextRequest(): Promise<PromotionRequest> {
    for (;;) {
      const request = readRequest(this.#options.directory);
      if (request !== undefined) return request;
      await new Promise<void>((resolve) => {
        this.#cancel = systemClock.after(LOOK_MS, resolve);
      });
    }
  }

  /** False: the directory follows as before. */
  async #promote({ id, withinMs }: PromotionRequest): Promise<boolean> {
    const { run, directory, log } = this.#options;
    log.info("a promotion is asked for");
    this.#isPromoting = true;
    try {
      if (withinMs > 0) await this.#follower.finish(withinMs);
      else await this.#follower.close();
      const lines = await reportBytes(run, (onBytes) => promoteFollowed(directory, this.#copy.record, onBytes));
      noteFromCommandLine(run, "promote", nameOf(this.#copy.record));
      for (const line of lines) log.info("promoted", { line });
      writeAnswer(directory, { id, outcome: "promoted", lines });
      await this.close();
      return true;
    } catch (fault) {
      const reason = refusalText(fault, this.#copy.record.areas);
      if (reason === undefined) throw fault;
      this.#isPromoting = false;
      log.error("the directory is not promoted, and follows as before", { reason });
      writeAnswer(directory, { id, outcome: "refused", lines: [reason] });
      return false;
    }
  }
}

/** Why a promotion is refused, for the operator; undefined: the error is of another kind. */
export function refusalText(fault: unknown, areas: readonly { readonly completeToMs: number }[]): string | undefined {
  if (fault instanceof NotFollowing || fault instanceof UnusableCopy) return fault.message;
  if (!(fault instanceof LastFetchFailed)) return undefined;
  const toMs = Math.min(...areas.map(({ completeToMs }) => completeToMs));
  const has = areas.length === 0 ? "it has nothing yet" : `it is complete to ${new Date(toMs).toISOString()}`;
  return `The newest state of the copy was not fetched in time (${fault.message}), and nothing is promoted; ${has}. Try again with a longer --within, or with --now to go without the rest`;
}

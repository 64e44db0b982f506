/**
 * `larder serve` and `larder dev`: one server for the life of the process.
 *
 * SIGTERM, SIGINT and SIGHUP stop it cleanly with exit code 0; a second signal
 * ends it at once. SIGUSR1 and SIGUSR2 are ignored and logged (Node would open
 * its debugger for the first and end for the second: `bin/larder.cjs`). An
 * uncaught error is logged, acknowledged writes are written, and the exit code
 * is 1: the next start recovers the state.
 */
import { constants } from "node:os";
import { systemClock } from "../kernel/clock.ts";
import { faultFields, type Log } from "../kernel/log.ts";
import { type Addresses, printBlock } from "./cli/env-block.ts";
import { StartRefusal } from "./refusal.ts";
import { Server } from "./server.ts";
import type { RunSettings } from "./settings/run-settings.ts";
import { formatFor, stderrLog, stderrTerminal } from "./stderr.ts";

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const IGNORED_SIGNALS = ["SIGUSR1", "SIGUSR2"] as const;

/**
 * Ctrl-C arrives from the terminal, and again from npm, which forwards it to its script. The same signal within this
 * time is that duplicate and not a second request.
 */
const SIGNAL_ECHO_MS = 250;

export async function runServer(run: RunSettings, version: string): Promise<void> {
  const logFormat = formatFor(run.settings.logFormat);
  const log = stderrLog(run.settings.logLevel, logFormat);
  const server = new Server({
    run,
    version,
    log,
    logFormat,
    clock: systemClock,
    terminal: stderrTerminal(logFormat),
    onCrash: () => process.exit(1),
  });
  // The reader of the block may have closed the pipe; that is no reason to stop.
  process.stdout.on("error", () => {});
  stopOnSignals(server, log);
  process.on("uncaughtException", (fault) => server.fail(fault));
  process.on("unhandledRejection", (fault) => server.fail(fault));

  try {
    const addresses = await server.open();
    process.stdout.write(blockOf(server, { run, version, addresses }));
    log.info("serving", { version, pid: process.pid });
  } catch (fault) {
    await refuse(server, fault, log);
  }
}

function blockOf(
  server: Server,
  { run, version, addresses }: { run: RunSettings; version: string; addresses: Addresses },
) {
  const { tenants, directory } = server;
  return printBlock({
    version,
    addresses,
    tenants,
    isFirstStart: directory.isFirstStart,
    tokensPath: directory.tokensPath,
    remarks: run.settings.dataDirectory === undefined ? ["nothing is stored: set --data-dir to store data"] : [],
  });
}

/** Logs a failed start: one sentence if the operator can fix it, otherwise the full error. */
async function refuse(server: Server, fault: unknown, log: Log): Promise<never> {
  await server.close(0).catch(() => {});
  if (fault instanceof StartRefusal) {
    for (const sentence of fault.message.split("\n")) process.stderr.write(`larder: ${sentence}\n`);
    process.exit(fault.exitCode);
  }
  log.error("the server could not start", faultFields(fault));
  process.exit(1);
}

function stopOnSignals(server: Server, log: Log): void {
  let first: { signal: NodeJS.Signals; atMs: number } | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    const atMs = systemClock.monotonicMs();
    if (first === undefined) {
      first = { signal, atMs };
      log.info("stopping", { signal });
      server.close().then(
        () => {
          log.info("stopped");
          process.exit(0);
        },
        (fault: unknown) => {
          log.error("the server could not stop cleanly", faultFields(fault));
          process.exit(1);
        },
      );
    } else if (signal !== first.signal || atMs - first.atMs > SIGNAL_ECHO_MS) {
      log.warn("stopped at once", { signal });
      process.exit(128 + constants.signals[signal]);
    }
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => log.warn("a signal was ignored", { signal }));
}

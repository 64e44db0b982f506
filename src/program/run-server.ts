/**
 * `larder serve` and `larder dev`: one server for the life of the process.
 *
 * SIGTERM, SIGINT and SIGHUP stop it cleanly with exit code 0; a second signal
 * ends it at once. SIGUSR1 and SIGUSR2 are ignored and logged (Node would open
 * its debugger for the first and end for the second: `bin/larder.cjs`). An
 * uncaught error is logged, acknowledged writes are written, and the exit code
 * is 1: the next start recovers the state. A node of a cluster that has lost its
 * life or a shard ends at once with exit code 3.
 */
import { getCompileCacheDir } from "node:module";
import { constants } from "node:os";
import { systemClock } from "../kernel/clock.ts";
import { faultFields, type Log } from "../kernel/log.ts";
import { type Addresses, type EnvironmentBlock, environmentOf, printBlock } from "./cli/env-block.ts";
import { type ChildCommand, startChild } from "./cli/environment/child-command.ts";
import { watchNpmShell } from "./cli/npm-shell.ts";
import type { DirectoryLock } from "./directory/directory-lock.ts";
import { eventOutput } from "./events/output.ts";
import { StartRefusal } from "./refusal.ts";
import { Server } from "./server.ts";
import type { RunSettings } from "./settings/run-settings.ts";
import { isLoopback } from "./settings/values.ts";
import { formatFor, stderrLog, stderrTerminal } from "./stderr.ts";

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const IGNORED_SIGNALS = ["SIGUSR1", "SIGUSR2"] as const;

/**
 * Ctrl-C arrives from the terminal, and again from npm, which forwards it to its script. The same signal within this
 * time is that duplicate and not a second request.
 */
const SIGNAL_ECHO_MS = 250;

/** A node of a cluster has ended because another one has its shards. A supervisor may start it again at once. */
const LOST_EXIT_CODE = 3;

export interface RunOptions {
  readonly version: string;
  /** The lock of the data directory, if this process has it already. */
  readonly lock?: DirectoryLock;
  /** As in `ServerOptions`. */
  readonly freeAdminPort?: () => Promise<void>;
  /** A command that runs beside the server, which ends with it (cli/environment/child-command.ts); undefined: none. */
  readonly command?: readonly string[] | undefined;
  /** No events, and of the log only warnings and errors. */
  readonly isQuiet?: boolean;
  /** False: events have no colour, on a terminal either. */
  readonly mayColour?: boolean;
}

export async function runServer(given: RunSettings, options: RunOptions): Promise<void> {
  const { version, command } = options;
  const run = options.isQuiet === true ? quietly(given) : given;
  const logFormat = formatFor(run.settings.logFormat);
  const log = stderrLog(run.settings.logLevel, logFormat);
  const server = new Server({
    run,
    version,
    lock: options.lock,
    freeAdminPort: options.freeAdminPort,
    log,
    logFormat,
    events: eventOutput(run, options),
    clock: systemClock,
    terminal: stderrTerminal(logFormat),
    onStopRequest: () => process.kill(process.pid, "SIGTERM"),
    onCrash: () => {
      running.child?.signal("SIGTERM");
      process.exit(1);
    },
    onLost: () => process.exit(LOST_EXIT_CODE),
  });
  // The reader of the block may have closed the pipe; that is no reason to stop.
  process.stdout.on("error", () => {});
  const running: Running = { server, child: undefined };
  stopOnSignals(running, log);
  watchNpmShell({
    clock: systemClock,
    onEnd: () => {
      log.info("npm ended");
      process.kill(process.pid, "SIGTERM");
    },
  });
  process.on("uncaughtException", (fault) => server.fail(fault));
  process.on("unhandledRejection", (fault) => server.fail(fault));

  try {
    const addresses = await server.open();
    const block = blockOf(server, { run, version, addresses });
    log.debug("compiled code is cached", { directory: getCompileCacheDir() ?? "nowhere" });
    log.info("serving", { version, pid: process.pid });
    const url = consoleUrlOf(run, addresses);
    if (url !== undefined && run.command !== "dev") log.info("the console is on", { url });
    if (command === undefined) process.stdout.write(block);
    else await runCommand(running, { command, block, environment: environmentOf(addresses, server.tenants), log });
  } catch (fault) {
    await refuse(server, fault, log);
  }
}

/** The run with warnings and errors only. */
function quietly(run: RunSettings): RunSettings {
  const { logLevel } = run.settings;
  return logLevel === "error" ? run : { ...run, settings: { ...run.settings, logLevel: "warn" } };
}

interface Running {
  readonly server: Server;
  child: ChildCommand | undefined;
}

/** Runs the command, stops the server after it, and exits with the code of the command. */
async function runCommand(
  running: Running,
  {
    command,
    block,
    environment,
    log,
  }: {
    command: readonly string[];
    block: string;
    environment: EnvironmentBlock;
    log: Log;
  },
): Promise<void> {
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  // Stdout is the command's. It has the variables; people read the comments.
  for (const line of block.split("\n")) if (line.startsWith("#")) print(line);
  running.child = startChild(command, { environment, print });
  const code = await running.child.ended;
  running.child = undefined;
  await running.server.close();
  log.info("stopped", { command: command[0], code });
  process.exit(code);
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
    isDev: run.command === "dev",
    tokensPath: directory.tokensPath,
    consoleUrl: consoleUrlOf(run, addresses),
    remarks: remarksOn(run),
  });
}

/** Undefined: there is no console, or nobody could use it: that of dev answers only on a loopback address. */
function consoleUrlOf({ command, settings }: RunSettings, { admin }: Addresses): string | undefined {
  const { adminHost } = settings;
  const isReachable = command !== "dev" || isLoopback(adminHost) || adminHost === "0.0.0.0" || adminHost === "::";
  return settings.console && isReachable ? `${admin}/console` : undefined;
}

function remarksOn({ command, settings }: RunSettings): readonly string[] {
  const isOpen = command === "dev" && !isLoopback(settings.host);
  return [
    ...(settings.dataDirectory === undefined ? ["nothing is stored: set --data-dir to store data"] : []),
    ...(isOpen
      ? [
          `other machines may reach the store, the vector index and messaging on ${settings.host}, with these tokens only`,
        ]
      : []),
  ];
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

function stopOnSignals(running: Running, log: Log): void {
  const { server } = running;
  let first: { signal: NodeJS.Signals; atMs: number } | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    const atMs = systemClock.monotonicMs();
    const isEcho = first !== undefined && signal === first.signal && atMs - first.atMs <= SIGNAL_ECHO_MS;
    if (running.child !== undefined) {
      if (!isEcho) running.child.signal(signal);
      first ??= { signal, atMs };
    } else if (first === undefined) {
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
    } else if (!isEcho) {
      log.warn("stopped at once", { signal });
      process.exit(128 + constants.signals[signal]);
    }
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => log.warn("a signal was ignored", { signal }));
}

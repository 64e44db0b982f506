/** Work that leaves nothing behind if a signal ends the process, as Ctrl-C does. */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Does the work. If a signal comes meanwhile, `clean` is called, that of work around it too, and then the signal ends the
 * process as it would have done.
 */
export async function cleanedUp<Result>(clean: () => void, work: () => Promise<Result>): Promise<Result> {
  const onSignal = (signal: NodeJS.Signals): void => {
    clean();
    process.removeListener(signal, onSignal);
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  }
}

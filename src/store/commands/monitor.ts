/** MONITOR over TCP. Over HTTP it is an event stream. */
import { noKeys, type Row } from "../command.ts";
import { monitorInTransaction } from "../errors.ts";
import { ok } from "../reply/reply.ts";

export const monitorRow: Row = {
  name: "MONITOR",
  summary: "Streams all commands that run from now on",
  arity: 1,
  flags: ["admin", "noscript", "loading", "stale", "tcp-only"],
  categories: [],
  keys: noKeys,
  run: () => ok,
  runInSession: (session) => {
    if (session.isExecuting) throw monitorInTransaction;
    // As Redis, which replies only once.
    if (session.listening.isMonitor) return undefined;
    session.listening.monitor();
    session.modeChanged();
    return ok;
  },
};

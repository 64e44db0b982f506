/**
 * SAVE and its like. A snapshot is a file of the whole data directory's store,
 * which a process of its own writes from the journal, so a save never stops the
 * server: SAVE blocks only its client. A snapshot also replaces the journal
 * before it, so BGREWRITEAOF is the same. Writes are durable without any of them.
 */
import { type Call, noKeys, type Row } from "../command.ts";
import type { SnapshotFacts } from "../command-host.ts";
import {
  nothingStored,
  rewriteInProgress,
  saveFailed,
  saveInProgress,
  saveUnblocked,
  snapshotsOff,
  syntaxError,
} from "../errors.ts";
import { errorReply, integer, ok, type Reply, simple } from "../reply/reply.ts";

export const bgrewriteaofRow: Row = {
  name: "BGREWRITEAOF",
  summary: "Starts a snapshot, which replaces the journal before it",
  arity: 1,
  flags: ["admin", "noscript", "no_async_loading", "tcp-only"],
  keys: noKeys,
  run: (call) => {
    const snapshots = snapshotsOf(call);
    if (snapshots.runningMs !== undefined) throw rewriteInProgress;
    void snapshots.request();
    return simple("Background append only file rewriting started");
  },
};

export const bgsaveRow: Row = {
  name: "BGSAVE",
  summary: "Starts a snapshot",
  arity: -1,
  flags: ["admin", "noscript", "no_async_loading", "tcp-only"],
  keys: noKeys,
  run: (call) => {
    const { argCount, word } = call;
    if (argCount > 2 || (argCount === 2 && word(1) !== "SCHEDULE")) throw syntaxError;
    void idleSnapshotsOf(call).request();
    return simple("Background saving started");
  },
};

export const lastsaveRow: Row = {
  name: "LASTSAVE",
  summary: "Returns the time of the last snapshot in seconds, at first that of the start",
  arity: 1,
  flags: ["loading", "stale", "fast", "tcp-only"],
  categories: ["admin", "dangerous"],
  keys: noKeys,
  run: ({ database: { context } }) =>
    integer(Math.floor((context.snapshots?.lastSavedAtMs ?? context.startedAtMs) / 1_000)),
};

export const saveRow: Row = {
  name: "SAVE",
  summary: "Makes a snapshot, and returns when it is on the disk",
  arity: 1,
  flags: ["admin", "noscript", "no_async_loading", "no_multi", "tcp-only"],
  keys: noKeys,
  run: save,
};

function save(call: Call): Reply {
  const snapshots = idleSnapshotsOf(call);
  const { database, caller } = call;
  const wait = {
    type: "snapshot",
    keys: [],
    timeoutMs: 0,
    timedOut: errorReply(saveUnblocked),
    line: "",
    serve: () => undefined,
  } as const;
  const reply = call.wait(wait);
  const taker = caller.waiting;
  void snapshots.request().then((isWritten) => {
    if (taker !== undefined) database.waiters.endWait(taker, wait, isWritten ? ok : errorReply(saveFailed));
  });
  return reply;
}

function snapshotsOf({ database }: Call): SnapshotFacts {
  const { snapshots } = database.context;
  if (snapshots === undefined) throw nothingStored;
  if (!snapshots.mayRequest) throw snapshotsOff;
  return snapshots;
}

/** As in Redis, a second snapshot is refused while one is under way, also one that nobody requested. */
function idleSnapshotsOf(call: Call): SnapshotFacts {
  const snapshots = snapshotsOf(call);
  if (snapshots.runningMs !== undefined) throw saveInProgress;
  return snapshots;
}

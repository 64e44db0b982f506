/**
 * One transaction of a command on the PostgreSQL of a cluster: it changes
 * everything that the command changes, or nothing.
 */
import type { PgConnection } from "../../../cluster/postgres/pg-session.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { codeOf, StartRefusal } from "../../refusal.ts";
import { refusalOf } from "../cluster-facts.ts";
import type { ConnectionPlan } from "../connection-plan.ts";
import { Connector } from "../connector.ts";

export interface ClusterPlace {
  readonly plan: ConnectionPlan;
  /** Where the URL was set, for people. */
  readonly place: string;
  /** For one statement, which may wait for a lock, the disk or a standby; two minutes if absent. */
  readonly patienceMs?: number;
}

export interface Transaction {
  /** The rows that a statement returns. */
  rows<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

const PATIENCE_MS = 120_000;
/** Another command, or a node that claims a shard, may hold the locks. */
const LOCK_TIMEOUT = "10s";
/** SQLSTATEs of PostgreSQL. */
const LOCK_NOT_AVAILABLE = "55P03";
const DEADLOCK = "40P01";
const DISK_FULL = "53100";

/**
 * Runs `work` in a transaction and commits it. Throws a `StartRefusal` which says that nothing was changed, or that
 * PostgreSQL did not say whether it was.
 */
export async function changeAtOnce<Result>(
  place: ClusterPlace,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return connected(place, async (connection) => {
    const warnings = warningsOf(connection);
    await connection.query("BEGIN");
    await connection.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
    const result = await work(transactionOn(connection));
    warnings.count = 0;
    try {
      await connection.query("COMMIT");
    } catch (fault) {
      if (isRefusal(fault)) throw fault;
      throw new StartRefusal(
        "The connection to PostgreSQL was lost before it said whether it has committed: run the command again, which finds out",
        1,
        { cause: fault },
      );
    }
    if (warnings.count > 0)
      throw new StartRefusal(
        "PostgreSQL has committed, but perhaps only on its primary: run the command again when its standby is there",
      );
    return result;
  });
}

/**
 * Runs `read` on one state of the database. Throws a `StartRefusal`, also if the server that answers cannot commit: a
 * former primary that is cut off has an old state.
 */
export async function readAtOnce<Result>(
  place: ClusterPlace,
  read: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return connected(place, async (connection) => {
    const warnings = warningsOf(connection);
    // The lock is written to the log of PostgreSQL, so this waits for the standby as a change does.
    await connection.query("SELECT id FROM larder.shard ORDER BY id LIMIT 1 FOR NO KEY UPDATE");
    if (warnings.count > 0)
      throw new StartRefusal("PostgreSQL cannot commit now: run the command again when its standby is there");
    await connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    return read(transactionOn(connection));
  });
}

/** The statement that ends a `readAtOnce` is the end of its connection. */
async function connected<Result>(
  { plan, place, patienceMs = PATIENCE_MS }: ClusterPlace,
  use: (connection: PgConnection) => Promise<Result>,
): Promise<Result> {
  let connection: PgConnection | undefined;
  try {
    connection = await new Connector({ plan, clock: systemClock, patienceMs }).connect();
    return await use(connection);
  } catch (fault) {
    throw transactionRefusal(fault, { plan, place });
  } finally {
    // Without a commit before, PostgreSQL undoes the transaction. A lost connection has nothing to end.
    await connection?.end().catch(() => {});
  }
}

/** Counts the warnings of PostgreSQL, such as that of a commit which no standby has. */
function warningsOf(connection: PgConnection): { count: number } {
  const warnings = { count: 0 };
  connection.on("notice", ({ severity }) => {
    if (severity === "WARNING") warnings.count += 1;
  });
  return warnings;
}

function transactionOn(connection: PgConnection): Transaction {
  return {
    async rows<Row>(text: string, values: readonly unknown[] = []) {
      return (await connection.query(text, [...values])).rows as Row[];
    },
  };
}

function transactionRefusal(fault: unknown, { plan, place }: ClusterPlace): unknown {
  const known = refusalOf(fault, plan, place);
  if (known !== fault || fault instanceof StartRefusal) return known;
  if (codeOf(fault) === LOCK_NOT_AVAILABLE)
    return new StartRefusal("Another command changes the cluster: run this one again when that has ended", 1, {
      cause: fault,
    });
  // A change of the tables and a statement of a node lock the same tables in another order.
  if (codeOf(fault) === DEADLOCK)
    return new StartRefusal(
      "A node used the tables of the cluster meanwhile: run the command again. Nothing was changed",
      1,
      {
        cause: fault,
      },
    );
  if (codeOf(fault) === DISK_FULL)
    return new StartRefusal("PostgreSQL is full: free some space, and run the command again. Nothing was changed", 1, {
      cause: fault,
    });
  if (isLost(fault))
    return new StartRefusal("The connection to PostgreSQL was lost: run the command again. Nothing was changed", 1, {
      cause: fault,
    });
  return fault;
}

/** An error with which PostgreSQL refuses a statement, and undoes the transaction. */
function isRefusal(fault: unknown): boolean {
  return fault instanceof Error && "severity" in fault && fault.severity === "ERROR";
}

/** The end of the connection: a fatal error of PostgreSQL, or an error of the socket or of `pg`. */
function isLost(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false;
  if ("severity" in fault) return fault.severity === "FATAL" || fault.severity === "PANIC";
  return /connection|not queryable/i.test(fault.message) || (codeOf(fault)?.startsWith("E") ?? false);
}

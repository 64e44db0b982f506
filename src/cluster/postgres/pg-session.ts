/**
 * A session over a connection of `pg`, which is opened when it is first needed
 * and again after it was lost.
 *
 * A statement whose connection ends before its answer has an unknown end:
 * PostgreSQL may have committed it, may still be carrying it out, or has never
 * seen it. Nothing is cancelled and nothing is repeated here.
 */
import type { Client, DatabaseError, QueryConfig } from "pg";
import { DoubtfulOutcome, StoreFull } from "../log-store/log-store.ts";
import type { SqlResult, SqlSession, SqlValue, Statement } from "./session.ts";

/** `disk_full` in the table of PostgreSQL's error codes. */
const DISK_FULL = "53100";

/** The part of a client that a session uses. */
export type PgConnection = Pick<Client, "query" | "end" | "on">;

export class PgSession implements SqlSession {
  readonly #connect: () => Promise<PgConnection>;
  #connection: PgConnection | undefined;
  #isWarned = false;
  /** The end of the statement before: one runs at a time, so that a warning belongs to one statement. */
  #last: Promise<unknown> = Promise.resolve();

  /** `connect` resolves with a connection to a server that accepts writes. */
  constructor(connect: () => Promise<PgConnection>) {
    this.#connect = connect;
  }

  run<Row>(statement: Statement, values: readonly SqlValue[]): Promise<SqlResult<Row>> {
    const result = this.#last.then(() => this.#run<Row>(statement, values));
    this.#last = result.catch(() => {});
    return result;
  }

  /** Waits for the statement that is running and closes the connection. */
  async close(): Promise<void> {
    await this.#last;
    await this.#connection?.end();
    this.#connection = undefined;
  }

  async #run<Row>({ name, text }: Statement, values: readonly SqlValue[]): Promise<SqlResult<Row>> {
    this.#connection ??= await this.#open();
    this.#isWarned = false;
    const query: QueryConfig<SqlValue[]> = { name, text, values: [...values] };
    try {
      const { rows } = await this.#connection.query(query);
      return { rows: rows as Row[], isWarned: this.#isWarned };
    } catch (cause) {
      // An error of PostgreSQL means that the statement was undone. A fatal one ends the connection, perhaps after the commit.
      if (isRefusal(cause)) throw cause.code === DISK_FULL ? new StoreFull("PostgreSQL is full", { cause }) : cause;
      this.#connection = undefined;
      throw new DoubtfulOutcome("The connection to PostgreSQL was lost", { cause });
    }
  }

  async #open(): Promise<PgConnection> {
    const connection = await this.#connect();
    connection.on("notice", ({ severity }) => {
      if (severity === "WARNING") this.#isWarned = true;
    });
    // Without a listener, a connection that is lost between two statements would end the program.
    connection.on("error", () => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    return connection;
  }
}

function isRefusal(error: unknown): error is DatabaseError {
  return error instanceof Error && "severity" in error && error.severity === "ERROR";
}

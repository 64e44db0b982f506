/** One connection to PostgreSQL as the log store uses it: one statement at a time, each a transaction of its own. */

/** A prepared statement of one name has one text. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export type SqlValue = string | number | boolean | Buffer | null | readonly number[];

export interface SqlResult<Row> {
  readonly rows: readonly Row[];
  /**
   * True if PostgreSQL warned of something: a commit that a standby may not have is reported as a success with a
   * warning.
   */
  readonly isWarned: boolean;
}

export interface SqlSession {
  /** Throws `DoubtfulOutcome` if the end of the statement is unknown, and the error of PostgreSQL if it refused it. */
  run<Row>(statement: Statement, values: readonly SqlValue[]): Promise<SqlResult<Row>>;
}

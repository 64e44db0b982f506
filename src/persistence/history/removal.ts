/**
 * Removes entries that are too old, messages whose final state is too old, and
 * all data of deleted users, in steps of STEP_ROWS rows, so that writes can run
 * in between.
 *
 * (1) A message is removed with all its entries when its final state is too old.
 *     A message that has not ended stays, because it will get more entries.
 * (2) All postings of a time partition are removed when it is older than the
 *     limit.
 */
import { type Database, numberOf, type Row, type Statement } from "./database.ts";
import { TIME_MS_END } from "./layout.ts";

/** Rows that one call reads: some 10 ms. */
const STEP_ROWS = 2_000;

interface UserState {
  readonly user: number;
  readonly state: number;
}

/** Is called before the transaction ends. */
export interface RemovalListener {
  onMessageRemoved(message: number): void;
  /** Some or all postings of a partition were removed; late entries may still be added to it. */
  onPostingsRemoved(partition: number): void;
}

export class Removal {
  readonly #lastStates: ReadonlySet<number>;
  readonly #statements: ReturnType<typeof prepareStatements>;

  readonly #listener: RemovalListener;

  constructor(database: Database, lastStates: readonly number[], listener: RemovalListener) {
    this.#lastStates = new Set(lastStates);
    this.#listener = listener;
    this.#statements = prepareStatements(database);
  }

  /** Removes at most some STEP_ROWS rows. True while there is more. */
  removeSome(timeMs: number): boolean {
    let rest = this.#sweepDropped(STEP_ROWS);
    for (const userState of this.#userStates()) {
      if (rest <= 0) return true;
      rest -= this.#removeEntries(userState, timeMs, rest);
    }
    return rest <= 0 || this.#removePartitions(timeMs, rest);
  }

  /** The time of an old entry, at most STEP_ROWS entries after the oldest one; undefined if there are no entries. */
  findOldMs(): number | undefined {
    let oldest: { userState: UserState; timeMs: number } | undefined;
    for (const userState of this.#userStates()) {
      const row = this.#statements.oldEntries.get(userState.user, userState.state, TIME_MS_END, 1);
      const timeMs = numberOf(row?.["time_ms"]);
      if (oldest === undefined || timeMs < oldest.timeMs) oldest = { userState, timeMs };
    }
    if (oldest === undefined) return undefined;
    const { user, state } = oldest.userState;
    return numberOf(this.#statements.oldEntries.all(user, state, TIME_MS_END, STEP_ROWS).at(-1)?.["time_ms"]);
  }

  /** The pairs of user and state that have entries; the index is skipped from pair to pair. */
  *#userStates(): Generator<UserState> {
    const { nextState, nextUser } = this.#statements;
    let row: Row | undefined = nextUser.get(-1);
    while (row !== undefined) {
      const userState = { user: numberOf(row["user"]), state: numberOf(row["state"]) };
      yield userState;
      row = nextState.get(userState.user, userState.state) ?? nextUser.get(userState.user);
    }
  }

  /** Returns how many rows it read. */
  #removeEntries({ user, state }: UserState, timeMs: number, countMax: number): number {
    const { oldEntries, removeEntry, removeDetail } = this.#statements;
    const rows = oldEntries.all(user, state, timeMs, countMax);
    const isLast = this.#lastStates.has(state);
    for (const row of rows) {
      if (isLast)
        this.#removeMessage(numberOf(row["message"])); // keeps (1)
      else {
        removeDetail.run(numberOf(row["number"]));
        removeEntry.run(user, state, numberOf(row["time_ms"]), numberOf(row["number"]));
      }
    }
    return rows.length;
  }

  #removeMessage(message: number): void {
    const { removeDetails, removeEntriesOf, removeMessage } = this.#statements;
    removeDetails.run(message);
    removeEntriesOf.run(message);
    removeMessage.run(message);
    this.#listener.onMessageRemoved(message);
  }

  /** keeps (2). True while there is more. */
  #removePartitions(timeMs: number, countMax: number): boolean {
    const { endedPartitions, lastPosting, removePostings, removePartition, lengthenFirstPartition } = this.#statements;
    let rest = countMax;
    for (const row of endedPartitions.all(timeMs)) {
      const partition = numberOf(row["number"]);
      const posting = lastPosting.get(partition, rest - 1) ?? { value: TIME_MS_END, message: TIME_MS_END };
      const removed = removePostings.run(partition, numberOf(posting["value"]), numberOf(posting["message"])).changes;
      if (removed > 0) this.#listener.onPostingsRemoved(partition);
      rest -= Number(removed);
      if (rest <= 0) return true;
      if (partition === 0) continue;
      // Later entries with such an old time now belong to the first partition.
      lengthenFirstPartition.run(numberOf(row["end_ms"]));
      removePartition.run(partition);
    }
    return false;
  }

  /** Removes the data of deleted users by scanning all messages. Returns how many rows may still be read. */
  #sweepDropped(countMax: number): number {
    const { dropped, messagesAfter, sweptTo, sweepDone } = this.#statements;
    let rest = countMax;
    for (const row of dropped.all()) {
      const user = numberOf(row["user"]);
      const rows = messagesAfter.all(numberOf(row["swept_message"]), numberOf(row["last_message"]), rest);
      rest -= rows.length;
      for (const message of rows) if (message["user"] === user) this.#removeMessage(numberOf(message["number"]));
      const last = rows.at(-1);
      if (rest > 0) sweepDone.run(user);
      else if (last !== undefined) sweptTo.run(numberOf(last["number"]), user);
      if (rest <= 0) break;
    }
    return rest;
  }
}

function prepareStatements(database: Database) {
  const prepare = (sql: string): Statement => database.prepare(sql);
  return {
    // As one comparison of pairs, these two would read all entries of the user's state.
    nextState: prepare("SELECT user, state FROM entry WHERE user = ? AND state > ? ORDER BY state LIMIT 1"),
    nextUser: prepare("SELECT user, state FROM entry WHERE user > ? ORDER BY user, state LIMIT 1"),
    oldEntries: prepare(
      `SELECT time_ms, number, message FROM entry WHERE user = ? AND state = ? AND time_ms < ?
       ORDER BY time_ms, number LIMIT ?`,
    ),
    removeEntry: prepare("DELETE FROM entry WHERE user = ? AND state = ? AND time_ms = ? AND number = ?"),
    removeDetail: prepare("DELETE FROM detail WHERE entry = ?"),
    removeDetails: prepare("DELETE FROM detail WHERE entry IN (SELECT number FROM entry WHERE message = ?)"),
    removeEntriesOf: prepare("DELETE FROM entry WHERE message = ?"),
    removeMessage: prepare("DELETE FROM message WHERE number = ?"),
    endedPartitions: prepare("SELECT number, end_ms FROM span WHERE end_ms <= ? ORDER BY number"),
    lastPosting: prepare("SELECT value, message FROM posting WHERE span = ? ORDER BY value, message LIMIT 1 OFFSET ?"),
    removePostings: prepare("DELETE FROM posting WHERE span = ? AND (value, message) <= (?, ?)"),
    removePartition: prepare("DELETE FROM span WHERE number = ?"),
    lengthenFirstPartition: prepare("UPDATE span SET end_ms = max(end_ms, ?) WHERE number = 0"),
    dropped: prepare("SELECT user, last_message, swept_message FROM dropped"),
    messagesAfter: prepare("SELECT number, user FROM message WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"),
    sweptTo: prepare("UPDATE dropped SET swept_message = ? WHERE user = ?"),
    sweepDone: prepare("DELETE FROM dropped WHERE user = ?"),
  };
}

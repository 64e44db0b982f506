/**
 * The connections of one user to one origin, and the calls that wait for them.
 *
 * (1) At most `connectionsMax` connections, including idle ones.
 * (2) A call waits only while all connections are in use, in the order of arrival.
 * (3) An origin without connections and without calls is reported as empty and
 *     removed.
 */
import type { Attempt, Holder } from "./attempt.ts";
import { Connection, type ConnectionOwner, type ConnectionServices } from "./connection.ts";
import type { Target } from "./target.ts";

export class Origin implements ConnectionOwner, Holder {
  /** Number of the last call; it grows with each call. */
  usedAt = 0;
  readonly #target: Target;
  readonly #services: ConnectionServices;
  readonly #connectionsMax: number;
  readonly #onEmpty: () => void;
  readonly #connections = new Set<Connection>();
  /** Connections without a call; the last one used is the first to be used again. */
  readonly #idle: Connection[] = [];
  readonly #waiting = new Set<Attempt>();
  /** Opens no connection for later calls, and closes connections when they are idle. */
  #isRetired = false;

  constructor(options: {
    target: Target;
    services: ConnectionServices;
    connectionsMax: number;
    onEmpty: () => void;
  }) {
    this.#target = options.target;
    this.#services = options.services;
    this.#connectionsMax = options.connectionsMax;
    this.#onEmpty = options.onEmpty;
  }

  get hasCalls(): boolean {
    return this.#waiting.size > 0 || this.#connections.size > this.#idle.length;
  }

  /** Sends a call, or queues it for a connection. */
  accept(attempt: Attempt): void {
    const idle = this.#idle.pop();
    if (idle !== undefined) idle.send(attempt);
    else if (this.#connections.size < this.#connectionsMax) this.#open(attempt);
    else {
      attempt.stage = "queued";
      attempt.holder = this;
      this.#waiting.add(attempt);
    }
  }

  /** Closes idle connections now, and the others after their calls. Waiting calls are still made. */
  retire(): void {
    this.#isRetired = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Ends all calls with a failure and closes everything. */
  close(text: string): void {
    this.#isRetired = true;
    for (const attempt of [...this.#waiting]) attempt.end(text);
    for (const connection of [...this.#connections]) connection.close(text);
  }

  freed(connection: Connection): void {
    const next = this.#takeWaiting();
    if (next !== undefined) connection.send(next);
    else if (this.#isRetired) connection.destroy();
    else this.#idle.push(connection);
  }

  gone(connection: Connection, unsent: Attempt | undefined): void {
    this.#connections.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    const next = unsent ?? this.#takeWaiting();
    if (next !== undefined) this.accept(next);
    else if (this.#connections.size === 0) this.#onEmpty(); // keeps (3)
  }

  release(attempt: Attempt): void {
    this.#waiting.delete(attempt);
  }

  #open(attempt: Attempt): void {
    const connection = new Connection(this.#target, this.#services, this);
    this.#connections.add(connection);
    connection.open(attempt);
  }

  #takeWaiting(): Attempt | undefined {
    for (const attempt of this.#waiting) {
      this.#waiting.delete(attempt);
      return attempt;
    }
    return undefined;
  }
}

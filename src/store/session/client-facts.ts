/**
 * A session as the admin port shows it: the facts of CLIENT LIST by name. It has
 * the name of the last command, and never its arguments, keys or channels. This file
 * imports nothing, so that the console shares the type.
 */

export interface ClientFacts {
  readonly id: number;
  /** `address:port` of the client, and of the port that it has connected to. */
  readonly address: string;
  readonly localAddress: string;
  /** A byte string. */
  readonly user: string;
  /** What it has said of itself with CLIENT SETNAME and SETINFO: printable ASCII, or empty. */
  readonly name: string;
  readonly libraryName: string;
  readonly libraryVersion: string;
  readonly respVersion: 2 | 3;
  readonly ageSeconds: number;
  readonly idleSeconds: number;
  /** Words of `clientStates`. */
  readonly states: readonly string[];
  /** Such as `client|setname`; absent before the first command. */
  readonly lastCommand?: string;
  /** The commands so far, without those in scripts. */
  readonly commands: number;
  /** Channels and patterns. */
  readonly subscriptions: number;
  readonly queuedCommands: number;
  readonly watchedKeys: number;
  /** Incomplete requests, unread replies and queued commands. */
  readonly memoryBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

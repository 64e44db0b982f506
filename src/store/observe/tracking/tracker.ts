/** A connection that tracks keys: the state that CLIENT TRACKING ON creates and OFF ends. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Subscriber } from "../pushes.ts";

/** The options of CLIENT TRACKING. */
export interface TrackingOptions {
  /** BCAST: it gets the changes of all keys with its prefixes, whether it has read them or not. */
  readonly isBroadcast: boolean;
  /** OPTIN: only commands after CLIENT CACHING YES count as reads. */
  readonly isOptIn: boolean;
  /** OPTOUT: all do except those after CLIENT CACHING NO. */
  readonly isOptOut: boolean;
  /** NOLOOP: it does not get the changes of its own commands. */
  readonly isNoLoop: boolean;
  /** REDIRECT: the connection that gets its pushes; 0: itself. */
  readonly redirectTo: number;
}

/** A connection that tracks keys, or gets the pushes of one that does. */
export interface TrackingClient {
  readonly id: number;
  readonly respVersion: 2 | 3;
  /** Whether it is subscribed to a channel or pattern: then RESP2 has a form for a push. */
  readonly isSubscribed: boolean;
  /** Gets the pushes. */
  readonly invalidated: Subscriber;
  /** Whether its user may know that a key of this name exists. */
  mayKnow(key: Bytes): boolean;
}

export class Tracker {
  readonly client: TrackingClient;
  options: TrackingOptions;
  /** Its prefixes, with `isBroadcast`. Only `Tracking` changes them. */
  readonly prefixes = new Set<Bytes>();
  /** CLIENT CACHING was called before the running command, or is the running command. */
  isCachingGiven = false;
  /** True once a push found no connection to be redirected to. */
  isBroken = false;
  /** False once tracking is off, or the connection has left the database. */
  isOpen = true;

  constructor(client: TrackingClient, options: TrackingOptions) {
    this.client = client;
    this.options = options;
  }

  /** Whether the keys of the running command count as read. */
  get countsRead(): boolean {
    const { isBroadcast, isOptIn, isOptOut } = this.options;
    return !isBroadcast && !(isOptIn && !this.isCachingGiven) && !(isOptOut && this.isCachingGiven);
  }
}

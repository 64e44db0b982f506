/** The listener's state of a connection. */
import type { ConnectionBytes } from "../limits/held-bytes.ts";
import type { Channel } from "./transport.ts";

export class ConnectionState<Request> implements ConnectionBytes {
  heldBytes = 0;
  unsentBytes = 0;
  /** Handled requests whose reply is not entirely in the system's buffers. */
  unansweredCount = 0;
  /** Complete requests whose reply has not been sent. */
  owedCount = 0;
  /** Requests that are not handled yet, in order: one whose body is being read, and those after it. */
  readonly waiting: Request[] = [];
  /** A request in the area waits for its turn. */
  hasQueued = false;
  /** Requests that have been read completely. */
  wholeCount = 0;
  /** A request was refused; all later bytes are dropped. */
  isBroken = false;
}

/**
 * The states of the connections of a listener. A channel of one request keeps its own, because a table whose keys live
 * shortly costs the garbage collector more than the request costs elsewhere.
 */
export class ConnectionStates<Request> {
  readonly #others = new WeakMap<Channel, ConnectionState<Request>>();

  find(channel: Channel): ConnectionState<Request> | undefined {
    const { listenerState } = channel;
    return listenerState instanceof ConnectionState ? listenerState : this.#others.get(channel);
  }

  /** The state of a channel, a new one at first. */
  of(channel: Channel): ConnectionState<Request> {
    let state = this.find(channel);
    if (state === undefined) {
      state = new ConnectionState<Request>();
      if ("listenerState" in channel) channel.listenerState = state;
      else this.#others.set(channel, state);
    }
    return state;
  }
}

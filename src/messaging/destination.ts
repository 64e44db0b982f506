/**
 * Where messages of one user go: scheme, host and port. It has a cap of its own
 * below the common one, so that a slow destination cannot take all slots.
 */
import { MessageList } from "./message-list.ts";

export class Destination {
  readonly origin: string;
  readonly inFlight = new Set<number>();
  readonly waiting = new MessageList("the destination's parallelism");

  constructor(origin: string) {
    this.origin = origin;
  }

  get isIdle(): boolean {
    return this.inFlight.size === 0 && this.waiting.size === 0;
  }
}

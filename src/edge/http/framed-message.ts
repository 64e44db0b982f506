/**
 * A request of `node:http` with its framing, read once.
 *
 * `node:http` reads `headers.expect` of each request and would build an object of all headers for it. The framing,
 * which we read anyway, has this field too (saves 10 % of a small request: bench/edge.bench.ts).
 */

import { IncomingMessage } from "./builtin-module.ts";
import { type Framing, readFraming } from "./framing.ts";

export class FramedMessage extends IncomingMessage {
  #framing: Framing | undefined;

  get framing(): Framing {
    this.#framing ??= readFraming(this.rawHeaders);
    return this.#framing;
  }
}
Object.defineProperty(FramedMessage.prototype, "headers", {
  get(this: FramedMessage): Framing {
    return this.framing;
  },
});

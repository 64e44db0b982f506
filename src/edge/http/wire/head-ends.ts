/** The lines that end the head of every response. */

/** `nowMs` is the time of the wall clock. */
export class HeadEnds {
  /** For a connection that stays open, and for one that ends. */
  keeping = "";
  closing = "";
  readonly #keepAliveSeconds: number;

  constructor(keepAliveTimeoutMs: number, nowMs: number) {
    this.#keepAliveSeconds = Math.floor(keepAliveTimeoutMs / 1_000);
    this.renew(nowMs);
  }

  /** Sets the date. To be called about once a second (RFC 9110 section 6.6.1). */
  renew(nowMs: number): void {
    const date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
    this.keeping = `Connection: keep-alive\r\nKeep-Alive: timeout=${this.#keepAliveSeconds}\r\n${date}\r\n`;
    this.closing = `Connection: close\r\n${date}\r\n`;
  }
}

/**
 * The connection of a client whose database another node serves: its socket and
 * the way to that node (a tunnel of a link, or a socket of its own), as one connection.
 *
 * (1) Bytes pass both ways unchanged and in their order.
 * (2) A side is not read while more than QUEUED_BYTES_MAX wait for the other one.
 * (3) The end of one side passes on after its bytes. When the owner's side has
 *     closed, the client has LAST_BYTES_MS for the rest, and then its connection
 *     ends: a command of it may have been carried out, so nothing is sent again.
 *     When the client's socket has closed, so does the owner's side.
 * (4) In a drain nothing more is taken of the client, so that the owner answers what
 *     it has received and ends.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { ByteStream } from "../forward/byte-stream.ts";

/** Bytes in each direction; the system holds some more. */
const QUEUED_BYTES_MAX = 64 * 1024;
/** How long a client may take for the last bytes, as one that reads none of its replies. */
const LAST_BYTES_MS = 60_000;

export interface SpliceOptions {
  /** Nobody else listens to it but for its errors. */
  readonly client: ByteStream;
  /** Paused. */
  readonly owner: ByteStream;
  /** What the client has sent, for the owner. */
  readonly first: Buffer;
  /** The client has ended its side. */
  readonly hasEnded: boolean;
  readonly clock: Pick<Clock, "after">;
  /** Counts what comes from the client, and what goes to it. */
  received(bytes: number): void;
  sent(bytes: number): void;
}

export class Splice {
  readonly #owner: ByteStream;
  #isDraining = false;

  constructor({ client, owner, first, hasEnded, clock, received, sent }: SpliceOptions) {
    this.#owner = owner;
    owner.preferText?.();
    const ownerClosed = (): void => {
      if (client.destroyed) return;
      const cancel = clock.after(LAST_BYTES_MS, () => client.destroy());
      client.once("close", cancel);
      client.destroySoon();
    };
    client.on("close", () => owner.destroy());
    if (owner.destroyed) {
      ownerClosed();
      return;
    }
    owner.on("close", ownerClosed);
    owner.write(first);
    pass(owner, client, sent);
    pass(client, owner, (bytes) => {
      received(bytes);
      return !this.#isDraining;
    });
    if (hasEnded) owner.end();
  }

  /** keeps (4) */
  drain(): void {
    this.#isDraining = true;
    this.#owner.end();
  }
}

/** keeps (1) and (2). `count` may say that the bytes are dropped. */
function pass(from: ByteStream, to: ByteStream, count: (bytes: number) => unknown): void {
  from.on("data", (chunk: Buffer | string) => {
    if (count(chunk.length) === false || !to.writable) return;
    to.write(chunk, "latin1");
    if (to.writableLength > QUEUED_BYTES_MAX) from.pause();
  });
  to.on("drain", () => from.resume());
  from.on("end", () => to.end());
  from.resume();
}

/**
 * The far end of a TCP connection, byte for byte: for tests of the sent bytes.
 *
 *     const peer = await RawPeer.open(port);
 *     peer.say("PING\r\n");
 *     assert.equal(await peer.hear("+PONG\r\n".length), "+PONG\r\n");
 */
import { connect, type Socket } from "node:net";

export class RawPeer implements Disposable {
  readonly socket: Socket;
  #text = "";
  #hasEnded = false;
  #wake = (): void => {};

  static open(port: number): Promise<RawPeer> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port }, () => resolve(new RawPeer(socket)));
      socket.once("error", reject);
    });
  }

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#text += chunk.latin1Slice();
      this.#wake();
    });
    const ended = (): void => {
      this.#hasEnded = true;
      this.#wake();
    };
    socket.on("error", ended);
    socket.on("end", ended);
    socket.on("close", ended);
  }

  /** Sends bytes. */
  say(bytes: string): void {
    this.socket.write(bytes, "latin1");
  }

  /** The next `length` bytes, or fewer if the connection ends before. */
  async hear(length: number): Promise<string> {
    while (this.#text.length < length && !this.#hasEnded) await this.#more();
    const heard = this.#text.slice(0, length);
    this.#text = this.#text.slice(length);
    return heard;
  }

  /** All bytes until the connection ends. */
  hearAll(): Promise<string> {
    return this.hear(Number.POSITIVE_INFINITY);
  }

  /** Sends a line and reads a reply of this length. */
  ask(bytes: string, length: number): Promise<string> {
    this.say(bytes);
    return this.hear(length);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

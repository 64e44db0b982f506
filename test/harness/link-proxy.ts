/**
 * A TCP link on loopback that fails as the test says.
 *
 *     whole      bytes pass
 *     refusing   connections end, and new ones end at once
 *     silent     connections stay open and nothing passes, in either direction
 */
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { systemClock } from "../../src/kernel/clock.ts";
import { freePort } from "./free-port.ts";

export type LinkState = "whole" | "refusing" | "silent";

export class LinkProxy implements Disposable {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #state: LinkState = "whole";

  private constructor(port: number, { targetPort, answerMs }: { targetPort: number; answerMs: number }) {
    this.port = port;
    this.#server = createServer((client) => {
      if (this.#state === "refusing") {
        client.destroy();
        return;
      }
      const server = createConnection(targetPort, "127.0.0.1");
      this.#join(client, server, 0);
      this.#join(server, client, answerMs);
    });
  }

  /** A link to a port of loopback. Bytes of the server take `answerMs`, so that an end of the link loses answers. */
  static async start(targetPort: number, { answerMs = 0 }: { answerMs?: number } = {}): Promise<LinkProxy> {
    const proxy = new LinkProxy(await freePort(), { targetPort, answerMs });
    await new Promise<void>((resolve) => proxy.#server.listen(proxy.port, "127.0.0.1", resolve));
    return proxy;
  }

  /** Ends the connections that are open, and no later ones. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  become(state: LinkState): void {
    this.#state = state;
    if (state === "refusing") this.cut();
    for (const socket of this.#sockets)
      if (state === "silent") socket.pause();
      else socket.resume();
  }

  [Symbol.dispose](): void {
    this.#server.close();
    this.cut();
  }

  #join(from: Socket, to: Socket, delayMs: number): void {
    // In the order of their calls.
    const later = (task: () => void): void => {
      if (delayMs === 0) task();
      else systemClock.after(delayMs, task);
    };
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on("data", (bytes: Buffer) => later(() => void to.write(bytes)));
    // The end that the other side has not seen yet waits with the bytes before it.
    from.on("end", () => later(() => to.end()));
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      later(() => to.destroy());
    });
    if (this.#state === "silent") from.pause();
  }
}

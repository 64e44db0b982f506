/** A TCP proxy on loopback that cuts its connections after a chosen number of bytes in one direction, at a text, or at once, or silently. */
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { freePort } from "./free-port.ts";

export type Direction = "to the server" | "to the client";

export class CuttingProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #counts: Record<Direction, number> = { "to the server": 0, "to the client": 0 };
  #cut: { readonly direction: Direction; left: number } | undefined;
  #hasCut = false;
  /** See `cutAt`. */
  #texts: string[] = [];
  #passesText = false;
  #isEnded = false;
  #isSilent = false;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number, targetPort: number) {
    this.port = port;
    this.#server = createServer((client) => {
      if (this.#isEnded) {
        client.destroy();
        return;
      }
      const server = createConnection(targetPort, "127.0.0.1");
      this.#join(client, server, "to the server");
      this.#join(server, client, "to the client");
    });
  }

  static async start(targetPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(await freePort(), targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(proxy.port, "127.0.0.1", resolve));
    return proxy;
  }

  /** The bytes that passed so far. */
  get counts(): Readonly<Record<Direction, number>> {
    return { ...this.#counts };
  }

  /** Cuts the connection that carries the byte after the next `bytes` ones in this direction. */
  cutAfter(direction: Direction, bytes: number): void {
    this.#cut = { direction, left: bytes };
    this.#hasCut = false;
  }

  /**
   * Ends all connections when the server was sent these texts one after the other, and accepts none from then on: as the end
   * of the client does. `passes`: the last of them arrives there. Each is to be in one packet.
   */
  cutAt(texts: readonly string[], { passes }: { readonly passes: boolean }): void {
    this.#texts = [...texts];
    this.#passesText = passes;
    this.#hasCut = false;
  }

  /** Ends all connections now, and accepts none until `restore`. */
  cutNow(): void {
    this.#hasCut = true;
    this.#isEnded = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on nothing passes, and no connection ends: as when a cable is cut. */
  silence(): void {
    this.#isSilent = true;
  }

  /** Accepts connections again. Those from before are ended. */
  restore(): void {
    this.#isEnded = false;
    this.#isSilent = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Cuts nothing any more. Returns whether it has cut since `cutAfter`. */
  disarm(): boolean {
    this.#cut = undefined;
    return this.#hasCut;
  }

  close(): void {
    this.#server.close();
  }

  #join(from: Socket, to: Socket, direction: Direction): void {
    from.setNoDelay(true);
    this.#sockets.add(from);
    from.on("data", (bytes: Buffer) => {
      if (this.#isSilent) return;
      if (direction === "to the server" && this.#isAtText(bytes)) {
        if (this.#passesText) to.end(bytes);
        this.#sockets.delete(to);
        this.cutNow();
        if (!this.#passesText) to.destroy();
        return;
      }
      const passed = this.#passed(direction, bytes);
      this.#counts[direction] += passed.length;
      to.write(passed);
      if (passed.length === bytes.length) return;
      // What has passed arrives before the end of the connection.
      to.end();
      from.destroy();
    });
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      to.end();
    });
  }

  /** Whether the last text is here. */
  #isAtText(bytes: Buffer): boolean {
    for (let offset = 0; this.#texts.length > 0; ) {
      const found = bytes.indexOf(this.#texts[0] ?? "", offset);
      if (found === -1) return false;
      offset = found + 1;
      this.#texts.shift();
      if (this.#texts.length === 0) return true;
    }
    return false;
  }

  #passed(direction: Direction, bytes: Buffer): Buffer {
    const cut = this.#cut;
    if (cut === undefined || cut.direction !== direction) return bytes;
    if (bytes.length <= cut.left) {
      cut.left -= bytes.length;
      return bytes;
    }
    this.#cut = undefined;
    this.#hasCut = true;
    return bytes.subarray(0, cut.left);
  }
}

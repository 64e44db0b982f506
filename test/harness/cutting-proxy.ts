/** A TCP proxy on loopback that cuts its connections after a chosen number of bytes in one direction. */
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { freePort } from "./free-port.ts";

export type Direction = "to the server" | "to the client";

export class CuttingProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #counts: Record<Direction, number> = { "to the server": 0, "to the client": 0 };
  #cut: { readonly direction: Direction; left: number } | undefined;
  #hasCut = false;

  private constructor(port: number, targetPort: number) {
    this.port = port;
    this.#server = createServer((client) => {
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
    from.on("data", (bytes: Buffer) => {
      const passed = this.#passed(direction, bytes);
      this.#counts[direction] += passed.length;
      to.write(passed);
      if (passed.length === bytes.length) return;
      // What has passed arrives before the end of the connection.
      to.end();
      from.destroy();
    });
    from.on("error", () => to.destroy());
    from.on("close", () => to.end());
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

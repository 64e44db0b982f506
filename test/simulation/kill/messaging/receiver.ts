/**
 * The destination of the kill rounds: a server in this process that records its
 * calls and answers as the path says.
 *
 *     /ok/<number>       200
 *     /flaky/<number>    500 the first time, 200 after
 *     /bad/<number>      500
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../../../src/kernel/clock.ts";

/** A call answered with 200. */
export interface Success {
  readonly messageId: string;
  readonly atMs: number;
}

export class Receiver {
  /** By the number in the path. */
  readonly successes = new Map<number, Success[]>();
  readonly #failedOnce = new Set<number>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      const [, kind = "", text = ""] = (request.url ?? "").split("/");
      request.resume();
      request.on("end", () => {
        const status = this.#answer(kind, Number(text), String(request.headers["upstash-message-id"]));
        response.writeHead(status).end();
      });
    });
  }

  static async start(): Promise<Receiver> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const receiver = new Receiver(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(kind: string, number: number, messageId: string): number {
    if (kind === "bad") return 500;
    if (kind === "flaky" && !this.#failedOnce.has(number)) {
      this.#failedOnce.add(number);
      return 500;
    }
    const success = { messageId, atMs: systemClock.nowMs() };
    const known = this.successes.get(number);
    if (known === undefined) this.successes.set(number, [success]);
    else known.push(success);
    return 200;
  }
}

/**
 * An application with one workflow and a given function: the HTTP server that
 * larder calls, and the client for its answers.
 *
 * "raw" work uses only the content of a delivery and answers
 * with one request; "served" work is the official client's `serve()`.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Client as MessagingClient } from "@upstash/qstash";
import { serve } from "@upstash/workflow";
import { Pool } from "undici";

export const TOKEN = Buffer.from('{"UserID":"bench","Password":"that-nobody-else-knows"}').toString("base64");
const SDK = { "upstash-workflow-sdk-version": "1", "upstash-workflow-sdk": "v1" };

export interface Delivery {
  readonly body: string;
  readonly runId: string;
  readonly request: IncomingMessage;
}

export type Work = (delivery: Delivery) => Promise<Response | undefined>;

export interface Shape {
  readonly steps: number;
  readonly isFork: boolean;
}

export class Application {
  /** The handling of a delivery. */
  work: Work = async () => undefined;
  /** Called for each run that ends. */
  ended = (_runId: string): void => {};
  readonly #port: number;
  readonly #pool: Pool;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const runId = String(request.headers["upstash-workflow-runid"]);
      void this.work({ body: Buffer.concat(chunks).toString(), runId, request }).then(async (answer) => {
        const text = answer === undefined ? "" : await answer.text();
        response.writeHead(answer?.status ?? 200, answer === undefined ? SDK : Object.fromEntries(answer.headers));
        response.end(text);
      });
    });
  });
  #url = "";
  #runCount = 0;

  /** `port` is larder's. */
  constructor(port: number) {
    this.#port = port;
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections: 64 });
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/w`;
  }

  async close(): Promise<void> {
    await this.#pool.close();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get url(): string {
    return this.#url;
  }

  /** Starts one run, and resolves with its id. */
  async start(): Promise<string> {
    this.#runCount += 1;
    const runId = `wfr_${this.#runCount}`;
    const headers = { ...this.stepHeaders(runId), "upstash-workflow-init": "true" };
    await this.ask("POST", "/v2/batch", [{ destination: this.#url, headers, body: "begin" }]);
    return runId;
  }

  stepHeaders(runId: string): Record<string, string> {
    return {
      "upstash-workflow-runid": runId,
      "upstash-workflow-init": "false",
      "upstash-workflow-url": this.#url,
      "upstash-feature-set": "LazyFetch,InitialBody,WF_DetectTrigger,WF_TriggerOnConfig",
      "upstash-forward-upstash-workflow-sdk-version": "1",
    };
  }

  /** Appends entries to a run. */
  send(runId: string, bodies: readonly object[], more: Record<string, string> = {}): Promise<void> {
    const headers = { ...this.stepHeaders(runId), ...more };
    const messages = bodies.map((body) => ({ destination: this.#url, headers, body: JSON.stringify(body) }));
    return this.ask("POST", "/v2/batch", messages);
  }

  async finish(runId: string): Promise<undefined> {
    await this.ask("DELETE", `/v2/workflows/runs/${runId}?cancel=false`, "done");
    this.ended(runId);
  }

  async ask(
    method: "POST" | "DELETE",
    path: string,
    body: unknown,
    more: Record<string, string> = {},
  ): Promise<undefined> {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...more };
    const reply = await this.#pool.request({ method, path, headers, body: JSON.stringify(body) });
    const text = await reply.body.text();
    if (reply.statusCode >= 300) throw new Error(`${method} ${path}: ${reply.statusCode} ${text}`);
  }

  rawWork({ steps, isFork }: Shape): Work {
    return isFork ? this.#rawFork(steps) : this.#rawSteps(steps);
  }

  #rawSteps(steps: number): Work {
    return async ({ body, runId }) => {
      const count = entriesOf(body).length - 1;
      if (count === steps) return this.finish(runId);
      await this.send(runId, [{ stepId: count + 1, stepName: "s", stepType: "Run", concurrent: 1, out: '"out"' }]);
    };
  }

  #rawFork(steps: number): Work {
    const fields = { stepName: "s", stepType: "Run", concurrent: steps };
    const plans = Array.from({ length: steps }, (_, index) => ({ stepId: 0, ...fields, targetStep: index + 1 }));
    return async ({ body, runId }) => {
      const entries = entriesOf(body);
      const count = entries.length - 1;
      if (count === 0) return void (await this.send(runId, plans));
      if (count === 2 * steps) return this.finish(runId);
      const last = JSON.parse(Buffer.from(entries.at(-1)?.body ?? "", "base64").toString()) as { targetStep?: number };
      if (last.targetStep !== undefined) await this.send(runId, [{ ...fields, stepId: last.targetStep, out: '"out"' }]);
    };
  }

  servedWork({ steps, isFork }: Shape): Work {
    const qstashClient = new MessagingClient({
      baseUrl: `http://127.0.0.1:${this.#port}`,
      token: TOKEN,
      retry: false,
      devMode: false,
    });
    const entriesMax = 1 + (isFork ? 2 * steps : steps);
    const { handler } = serve(
      async (context) => {
        const names = Array.from({ length: steps }, (_, index) => `s${index}`);
        if (isFork) await Promise.all(names.map((name) => context.run(name, () => "out")));
        else for (const name of names) await context.run(name, () => "out");
        return "done";
      },
      { qstashClient, disableTelemetry: true, env: {} },
    );
    return async ({ body, runId, request }) => {
      const given = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const answer = await handler(new Request(this.#url, { method: "POST", headers: given, body }));
      // The list of a run that is about to end is complete.
      if (entriesOf(body).length === entriesMax) setImmediate(() => this.ended(runId));
      return answer;
    };
  }
}

function entriesOf(body: string): readonly { readonly body: string }[] {
  return JSON.parse(body) as { body: string }[];
}

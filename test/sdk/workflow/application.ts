/**
 * An application with workflows on node:http: one route for each, served by the
 * official client, and a larder that calls it. Every request to a route is
 * recorded, so that tests can count it.
 */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, mock } from "node:test";
import { Client as MessagingClient } from "@upstash/qstash";
import { Client, serve, type WorkflowContext } from "@upstash/workflow";
import type { Larder, StartOptions } from "../../../src/mod.ts";
import { startSuite } from "../../harness/cluster/suite-server.ts";

export type RouteFunction = (context: WorkflowContext<unknown>) => Promise<unknown>;
export type RouteOptions = NonNullable<Parameters<typeof serve>[1]>;
type Handler = (request: Request) => Promise<Response>;

/** A request to a route. */
export interface Delivery {
  readonly path: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface RunView {
  readonly workflowRunId: string;
  readonly workflowState: string;
  readonly workflowRunCreatedAt: number;
  readonly workflowRunCompletedAt?: number;
  readonly workflowRunResponse?: string;
  readonly dlqId?: string;
  readonly failureFunction?: { readonly state: string; readonly responseBody?: string };
  readonly invoker?: { readonly workflowRunId: string };
  readonly steps: readonly { readonly type: string; readonly steps: readonly Readonly<Record<string, unknown>>[] }[];
}

/** Each look is a request, so this is seconds. */
const LOOKS_MAX = 10_000;

/** An application and a larder for the tests of one file, empty before each. */
export class Application {
  readonly deliveries: Delivery[] = [];
  readonly #routes = new Map<string, Handler>();
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));
  #larder: Larder | undefined;

  constructor(options: StartOptions = {}) {
    before(async () => {
      // The client logs each failure, which some tests are about.
      for (const method of ["error", "warn"] as const) mock.method(console, method, () => {});
      await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
      const { port } = this.#server.address() as AddressInfo;
      this.#larder = await startSuite({ outboundMap: `*.test=127.0.0.1:${port}`, ...options });
    });
    beforeEach(async () => {
      await this.#larder?.reset();
      this.#routes.clear();
      this.deliveries.length = 0;
    });
    after(async () => {
      await this.#larder?.stop();
      this.#server.closeAllConnections();
      await new Promise((resolve) => this.#server.close(resolve));
      mock.restoreAll();
    });
  }

  get larder(): Larder {
    if (this.#larder === undefined) throw new Error("the server exists only while tests run");
    return this.#larder;
  }

  get client(): Client {
    const { url, token } = this.larder.messaging;
    return new Client({ baseUrl: url, token, retry: false, devMode: false });
  }

  get messagingClient(): MessagingClient {
    const { url, token } = this.larder.messaging;
    return new MessagingClient({ baseUrl: url, token, retry: false, devMode: false });
  }

  /** A workflow at `http://app.test/<name>`. Returns the URL. */
  workflow(name: string, run: RouteFunction, options: Partial<RouteOptions> = {}): string {
    const served = serve(run, {
      qstashClient: this.messagingClient,
      disableTelemetry: true,
      env: {},
      ...options,
    } as RouteOptions);
    return this.route(name, served.handler);
  }

  /** Any other handler at `http://app.test/<name>`. Returns the URL. */
  route(name: string, handler: Handler): string {
    this.#routes.set(`/${name}`, handler);
    return `http://app.test/${name}`;
  }

  /** How often a route was called. */
  count(name: string): number {
    return this.deliveries.filter(({ path }) => path === `/${name}`).length;
  }

  async send(line: string, options: { readonly headers?: Record<string, string>; readonly body?: string } = {}) {
    const [method = "", path = ""] = line.split(" ");
    const { url, token } = this.larder.messaging;
    const headers = { authorization: `Bearer ${token}`, ...options.headers };
    const reply = await fetch(`${url}${path}`, { ...options, method, headers });
    return { status: reply.status, json: (await reply.json()) as unknown };
  }

  /** The log of a run. */
  async run(id: string): Promise<RunView> {
    const { json } = await this.send(`GET /v2/workflows/events?groupBy=workflowRunId&workflowRunId=${id}`);
    const [run] = (json as { runs: RunView[] }).runs;
    if (run === undefined) throw new Error(`run ${id} does not exist`);
    return run;
  }

  /** The log of a run as soon as `is` holds. */
  async until(id: string, is: (run: RunView) => boolean): Promise<RunView> {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const run = await this.run(id);
      if (is(run)) return run;
    }
    return assert.fail(`the run did not reach the expected state: ${JSON.stringify(await this.run(id))}`);
  }

  /**
   * The log of a run as soon as it has the step. A number of groups says less: the last one may be a delivery whose
   * result is not there yet, and time must not move before it is.
   */
  untilStep(id: string, name: string): Promise<RunView> {
    return this.until(id, ({ steps: groups }) =>
      groups.some(({ type, steps }) => type !== "next" && steps.some(({ stepName }) => stepName === name)),
    );
  }

  /** The log of a run that has ended. */
  ended(id: string): Promise<RunView> {
    return this.until(id, ({ workflowState }) => workflowState !== "RUN_STARTED");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const path = (request.url ?? "").split("?")[0] ?? "";
    const method = request.method ?? "GET";
    const headers = new Headers();
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      headers.append(request.rawHeaders[i] ?? "", request.rawHeaders[i + 1] ?? "");
    }
    this.deliveries.push({ path, method, headers, body });
    const handler = this.#routes.get(path);
    const hasBody = method !== "GET" && method !== "HEAD";
    const asked = new Request(`http://app.test${request.url}`, { method, headers, ...(hasBody ? { body } : {}) });
    const answer = (await handler?.(asked)) ?? new Response("no such route", { status: 404 });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  }
}

type Invokable = Parameters<WorkflowContext["invoke"]>[1]["workflow"];

/** A workflow of the application as another workflow invokes it. */
export function invokable(workflowId: string, routeFunction: RouteFunction): Invokable {
  return { workflowId, routeFunction, options: {} } as unknown as Invokable;
}

/** Steps as `[type of the group, names with states]`. */
export function outline({ steps: groups }: RunView): unknown {
  return groups.map(({ type, steps }) => [type, ...steps.map(({ stepName, state }) => `${stepName ?? ""} ${state}`)]);
}

/**
 * Requests of a client that knows all nodes of a cluster. A request that was
 * certainly not carried out goes to the next node, until one carries it out. One
 * that may have been carried out is never repeated.
 */
import { Agent, request } from "node:http";
import type { Random } from "../../src/kernel/random.ts";
import { moment } from "../simulation/kill/endings.ts";

export type Area = "store" | "messaging" | "vector";

export interface NodeAddress {
  readonly urls: Readonly<Record<Area, string>>;
}

export interface Asked {
  readonly area: Area;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

/** The connection broke after the request was sent: it may have been carried out. */
export class UnknownOutcome extends Error {
  override name = "UnknownOutcome";
}

/** Nobody carries requests out any more: the round is over. */
export class RoundOver extends Error {
  override name = "RoundOver";
}

export interface ClientOptions {
  /** The nodes that run now, in any order. */
  nodes(): readonly NodeAddress[];
  isOver(): boolean;
  /** Each request goes to a node that it draws. Absent: to the one that has carried out the last one. */
  readonly front?: Random;
}

/** After each node has refused a request. */
const PAUSE_MS = 20;
const MISDIRECTED = 421;
const BAD_GATEWAY = 502;
const UNAVAILABLE = 503;
/** What an area answers while the log store does not take writes: the write was not begun. */
const NOT_BEGUN = /larder-not-executed|PostgreSQL (?:does not answer|is full)|shard is suspended/;

export class ClusterClient {
  readonly #options: ClientOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #node: NodeAddress | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the answer of the node that carried the request out. Rejects with `UnknownOutcome`, or with `RoundOver`
   * if nobody had when the round was over.
   */
  async ask(asked: Asked): Promise<Answered> {
    while (!this.#options.isOver()) {
      for (const node of this.#nodesInOrder()) {
        const answered = await this.#askNode(node, asked);
        if (answered === undefined) continue;
        this.#node = node;
        return answered;
      }
      await moment(PAUSE_MS);
    }
    throw new RoundOver("the round was over before a node carried the request out");
  }

  close(): void {
    this.#agent.destroy();
  }

  #nodesInOrder(): readonly NodeAddress[] {
    const { nodes: all, front } = this.#options;
    const nodes = all();
    const first = front === undefined ? this.#node : nodes[front.below(Math.max(1, nodes.length))];
    if (first === undefined || !nodes.includes(first)) return nodes;
    return [first, ...nodes.filter((each) => each !== first)];
  }

  /** Undefined if it was not carried out. */
  #askNode({ urls }: NodeAddress, { area, method, path, headers, body }: Asked): Promise<Answered | undefined> {
    return new Promise((resolve, reject) => {
      const lost = (cause: unknown): void => reject(new UnknownOutcome("no answer", { cause }));
      const sending = request(
        `${urls[area]}${path}`,
        { method, headers: { ...headers }, agent: this.#agent },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          response.on("error", lost);
          response.on("close", () => {
            const status = response.statusCode ?? 0;
            // A node that forwards has lost the answer of the owner.
            if (!response.complete || status === BAD_GATEWAY) lost(undefined);
            else resolve(isNotExecuted(status, text) ? undefined : { status, text });
          });
        },
      );
      sending.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") resolve(undefined);
        else lost(error);
      });
      sending.end(body);
    });
  }
}

function isNotExecuted(status: number, text: string): boolean {
  return status === MISDIRECTED || (status === UNAVAILABLE && !text.includes("may have been")) || isNotBegun(text);
}

/** Whether an error says that the command was not begun, and may be sent again. */
export function isNotBegun(text: string): boolean {
  return NOT_BEGUN.test(text);
}

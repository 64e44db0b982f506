/** Clients that publish and cancel until the server is gone, and record what was acknowledged. */
import { Agent, request } from "node:http";
import { systemClock } from "../../../../src/kernel/clock.ts";
import type { Random } from "../../../../src/kernel/random.ts";

export interface Publication {
  readonly number: number;
  readonly kind: "now" | "delayed" | "cancelled" | "flaky" | "bad";
  readonly messageId: string;
  /** When the cancel was acknowledged. */
  cancelledAtMs?: number;
  /** A cancel was requested and not answered: it may have happened. */
  isCancelOpen?: boolean;
}

export interface Target {
  readonly messagingUrl: string;
  readonly receiverUrl: string;
  readonly token: string;
}

/** How each kind is published: path of the receiver, our headers, and its share of a hundred. */
const kinds = [
  { kind: "now", share: 60, path: "ok", headers: {} },
  { kind: "delayed", share: 15, path: "ok", headers: { "Upstash-Delay": "1s" } },
  { kind: "cancelled", share: 10, path: "ok", headers: { "Upstash-Delay": "3s" } },
  { kind: "flaky", share: 10, path: "flaky", headers: { "Upstash-Retry-Delay": "100" } },
  { kind: "bad", share: 5, path: "bad", headers: { "Upstash-Retries": "0" } },
] as const;

export class Publishers {
  readonly acknowledged: Publication[] = [];
  /** Requests that got no answer. */
  openCount = 0;
  #number = 0;

  /** Publishes with `count` clients until the server stops answering. Rejects if a request is refused. */
  async publishUntilLost(target: Target, count: number, random: Random): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: count });
    await Promise.all(Array.from({ length: count }, () => this.#run({ ...target, agent }, random)));
    agent.destroy();
  }

  async #run(target: Target & { agent: Agent }, random: Random): Promise<void> {
    for (;;) {
      const drawn = draw(random);
      this.#number += 1;
      const number = this.#number;
      const path = `/v2/publish/${target.receiverUrl}/${drawn.path}/${number}`;
      const answer = await send(target, "POST", path, drawn.headers);
      if (answer === undefined) {
        this.openCount += 1;
        return;
      }
      if (answer.status !== 200) throw new Error(`a publish was refused with ${answer.status}: ${answer.body}`);
      const { messageId } = JSON.parse(answer.body) as { messageId: string };
      const publication: Publication = { number, kind: drawn.kind, messageId };
      this.acknowledged.push(publication);
      if (drawn.kind !== "cancelled") continue;
      const cancelled = await send(target, "DELETE", `/v2/messages/${messageId}`, {});
      if (cancelled === undefined) {
        publication.isCancelOpen = true;
        return;
      }
      if (cancelled.status !== 200) throw new Error(`a cancel was refused with ${cancelled.status}: ${cancelled.body}`);
      publication.cancelledAtMs = systemClock.nowMs();
    }
  }
}

function draw(random: Random): (typeof kinds)[number] {
  let left = random.below(100);
  for (const row of kinds) {
    left -= row.share;
    if (left < 0) return row;
  }
  return kinds[0];
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Undefined if the connection broke before the answer was complete. */
export function send(
  { messagingUrl, token, agent }: { messagingUrl: string; token: string; agent?: Agent },
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const options = { method, headers: { ...headers, Authorization: `Bearer ${token}` }, ...(agent && { agent }) };
    const sent = request(messagingUrl + path, options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", () => resolve(undefined));
      response.on("close", () => resolve(undefined));
    });
    sent.on("error", () => resolve(undefined));
    sent.end();
  });
}

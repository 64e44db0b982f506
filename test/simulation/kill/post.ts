/** Requests to a server that may be killed at any moment. */
import { type Agent, request } from "node:http";

export interface Endpoint {
  readonly url: string;
  readonly token: string;
}

/** The connection broke: the server is dead, or the break is a fault of its own. */
export class ConnectionLost extends Error {
  override name = "ConnectionLost";
}

export interface Post {
  readonly path: string;
  /** The body, as JSON. */
  readonly text: string;
  readonly agent?: Agent;
}

/** Resolves with the JSON of a 200. Rejects with `ConnectionLost` if the answer is not complete. */
export function post({ url, token }: Endpoint, { path, text, agent }: Post): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const lost = (cause: unknown): void => reject(new ConnectionLost("no answer", { cause }));
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const sending = request(`${url}${path}`, { method: "POST", headers, ...(agent && { agent }) }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", lost);
      response.on("close", () => {
        if (!response.complete) return lost(undefined);
        const answer = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(JSON.parse(answer));
        else reject(new Error(`${path} answered ${response.statusCode}: ${answer.slice(0, 200)}`));
      });
    });
    sending.on("error", lost);
    sending.end(text);
  });
}

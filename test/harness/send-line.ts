/** One request over a separate connection, for servers that tests start on loopback. */
import { type IncomingHttpHeaders, request } from "node:http";
import { assertNoSecret } from "./canaries.ts";

export interface LineReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON. */
  readonly json: unknown;
}

export interface LineOptions {
  /** name, value, … */
  readonly headers?: readonly string[];
  /** A string or Buffer is sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  /** null sends none. */
  readonly token: string | null;
}

/** `line` is method and target, which is sent unchanged. */
export function sendLine(url: string, line: string, { headers = [], body, token }: LineOptions): Promise<LineReply> {
  const space = line.indexOf(" ");
  const payload = typeof body === "string" || Buffer.isBuffer(body) ? body : (JSON.stringify(body) ?? "");
  const sentHeaders = [
    ...(token === null ? [] : ["Authorization", `Bearer ${token}`]),
    ...["Host", "larder.test", "Content-Length", String(Buffer.byteLength(payload))],
    ...headers,
  ];
  return new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url);
    const options = { host, port, method: line.slice(0, space), path: line.slice(space + 1) };
    const sent = request({ ...options, headers: sentHeaders, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const { statusCode: status = 0, headers: answered } = response;
        try {
          assertNoSecret(text, token === null ? [] : [token], `the answer to ${line}`);
        } catch (fault) {
          reject(fault as Error);
        }
        resolve({
          status,
          headers: answered,
          text,
          get json() {
            return JSON.parse(text) as unknown;
          },
        });
      });
    });
    sent.on("error", reject);
    sent.end(payload);
  });
}

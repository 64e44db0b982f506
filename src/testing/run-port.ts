/**
 * The port on which test files ask for their larder (fresh-larder.ts). It listens on
 * loopback, and its path is a secret, because a page in a browser can send
 * requests to any local port.
 *
 *     POST /<secret>/fresh     { clock, index }    the tenants, and the time
 *     POST /<secret>/advance   { id, ms }          the time
 *     POST /<secret>/end       { id }              answered before it is done
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { loadHttp } from "../edge/http/builtin-module.ts";
import { parseJsonText } from "../kernel/json/parse.ts";
import { secretText } from "../kernel/random.ts";
import { StartRefusal } from "../mod.ts";
import type { FreshLarderOptions } from "./fresh-larder.ts";
import { LarderPool, type RunOptions } from "./larder-pool.ts";

export interface RunPort {
  /** The address with the secret. */
  readonly url: string;
  close(): Promise<void>;
}

type Fields = Readonly<Record<string, unknown>>;

const SECRET_LENGTH = 32;

/** Starts the server that all tests share, and its port. Rejects with a `StartRefusal` that names the option. */
export async function openRunPort(options: RunOptions): Promise<RunPort> {
  const pool = await LarderPool.open(options);
  const secret = secretText(SECRET_LENGTH);
  const server = loadHttp().createServer(async (request, response) => {
    const [, given, call = ""] = (request.url ?? "").split("/");
    const answer = given === secret && request.method === "POST" ? calls[call] : undefined;
    if (answer === undefined) {
      response.writeHead(404).end();
      return;
    }
    const value = await readFields(request)
      .then((fields) => answer(pool, fields))
      .catch((fault: unknown) => ({ error: textOf(fault) }));
    response.end(JSON.stringify(value));
  });
  // Test files keep their connection as long as they run.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await pool.close();
    },
  };
}

const calls: Readonly<Record<string, (pool: LarderPool, fields: Fields) => Promise<object>>> = {
  // The pool checks the fields.
  fresh: (pool, fields) => pool.fresh(fields as FreshLarderOptions),
  advance: async (pool, { id, ms }) => ({ nowMs: await pool.advance({ id, ms }) }),
  async end(pool, { id }) {
    pool
      .end({ id })
      .catch((fault: unknown) => console.error(`larder could not delete the data of a test: ${textOf(fault)}`));
    return {};
  },
};

async function readFields(request: IncomingMessage): Promise<Fields> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += chunk;
  return Object(parseJsonText(text)) as Fields;
}

/** A refusal is a sentence; every other failure is a bug and keeps its stack. */
function textOf(fault: unknown): string {
  if (fault instanceof StartRefusal) return fault.message;
  return fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
}

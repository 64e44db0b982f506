/** The application on node:http. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Application } from "./application.ts";

/** `application` is looked up for each request, because its address may only be known once it listens. */
export function listen(application: () => Application, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    answer(application(), request, response).catch((fault: unknown) => {
      console.error(fault);
      if (!response.headersSent) response.statusCode = 500;
      response.end();
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

async function answer(application: Application, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const method = request.method ?? "GET";
  const url = `http://${request.headers.host}${request.url}`;
  const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const body = method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(chunks) };
  const reply = await application(new Request(url, { method, headers, ...body }), request.socket.remoteAddress ?? "");
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  response.end(await reply.text());
}

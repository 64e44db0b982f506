/**
 * Faults of a server, planted between the fuzzer and an area: each is
 * found by the oracle that it names.
 */
import type { HttpReply, HttpRequest, HttpService } from "../../../src/edge/handler.ts";
import type { Bend } from "./fuzz-api.ts";
import { READ_ONLY_TOKEN, TOKEN } from "./subjects.ts";

export interface PlantedFault {
  readonly name: string;
  readonly oracle: string;
  readonly bend: Bend;
}

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: "a status that no document knows",
    oracle: "the status is in the document",
    bend: replies("GET /v2/queues", (reply) => ({ ...reply, status: 418 })),
  },
  {
    name: "a fault of the server",
    oracle: "no internal error",
    bend: replies("GET /info", (reply) => ({ ...reply, status: 500, body: '{"error":"x","status":500}' })),
  },
  {
    name: "an exception",
    oracle: "no internal error",
    bend: replies("DELETE /v2/messages", () => {
      throw new Error("planted");
    }),
  },
  {
    name: "an error that names no field",
    oracle: "an error names a field of the request",
    bend: changedErrors("Something is wrong with it"),
  },
  {
    name: "an error of the store without its code word",
    oracle: "an error names a field of the request",
    bend: changedErrors("no such command"),
  },
  {
    name: "a number where a text belongs",
    oracle: "the body has the shape of the document",
    bend: replies("POST /v2/trigger/", (reply) => changed(reply, /"workflowRunId":"[^"]+"/, '"workflowRunId":7')),
  },
  {
    name: "a field that is missing",
    oracle: "the body has the shape of the document",
    bend: replies("POST /upsert", (reply) => changed(reply, /"result"/, '"answer"')),
  },
  {
    name: "a field that no document knows",
    oracle: "the body has the shape of the document",
    bend: replies("GET /v2/globalParallelism", (reply) => changed(reply, /^\{/, '{"internal":1,')),
  },
  {
    name: "another content type",
    oracle: "the body has the shape of the document",
    bend: replies("GET /v2/schedules", (reply) => ({ ...reply, headers: ["Content-Type", "text/html"] })),
  },
  {
    name: "a token in an answer",
    oracle: "no answer contains a secret",
    bend: replies("GET /v2/topics", (reply) => ({ ...reply, body: `["${TOKEN}"]` })),
  },
  {
    name: "a signing key in an answer",
    oracle: "no answer contains a secret",
    bend: replies("GET /v2/flowControl", (reply) => ({ ...reply, body: '["sig_canary_next"]' })),
  },
  {
    name: "a route that asks for no token",
    oracle: "without a token every answer is 401",
    bend: requests((request) => (request.target.startsWith("/range") ? withToken(request, TOKEN) : request)),
  },
  {
    name: "a read-only token that may write",
    oracle: "a read-only token stays within its permissions",
    bend: requests((request) => (isReadOnly(request) ? withToken(request, TOKEN) : request)),
  },
  {
    name: "a read that writes",
    oracle: "a read-only token changes nothing",
    bend: (area) => ({
      ...area,
      handle(request) {
        if (request.target.startsWith("/v2/") && isReadOnly(request))
          area.handle(
            withToken(
              { ...request, header: request.header, method: "POST", target: "/v2/flowControl/seen/pause" },
              TOKEN,
            ),
          );
        return area.handle(request);
      },
    }),
  },
];

/** Changes answers to requests whose line begins with this text. */
function replies(line: string, change: (reply: HttpReply) => HttpReply): Bend {
  return (area) => bentReplies(area, (reply, request) => (isAsked(request, line) ? change(reply) : reply));
}

function changedErrors(text: string): Bend {
  return (area) =>
    bentReplies(area, (reply) =>
      reply.status === 400 ? changed(reply, /"error":"[^"]*"/, `"error":"${text}"`) : reply,
    );
}

function bentReplies(area: HttpService, change: (reply: HttpReply, request: HttpRequest) => HttpReply): HttpService {
  return {
    ...area,
    async handle(request) {
      const reply = await area.handle(request);
      return "body" in reply ? change(reply, request) : reply;
    },
  };
}

function requests(change: (request: HttpRequest) => HttpRequest): Bend {
  return (area) => ({ ...area, handle: (request) => area.handle(change(request)) });
}

function isAsked({ method, target }: HttpRequest, line: string): boolean {
  return `${method} ${target.split("?", 1)[0]}`.startsWith(line) && !target.startsWith("/openapi");
}

function isReadOnly({ rawHeaders }: HttpRequest): boolean {
  return rawHeaders.includes(`Bearer ${READ_ONLY_TOKEN}`);
}

function withToken(request: HttpRequest, token: string): HttpRequest {
  const others = request.rawHeaders.filter(
    (_, at) => request.rawHeaders[at - (at % 2)]?.toLowerCase() !== "authorization",
  );
  return { ...request, rawHeaders: ["Authorization", `Bearer ${token}`, ...others] };
}

function changed(reply: HttpReply, pattern: RegExp, text: string): HttpReply {
  return reply.status < 500 ? { ...reply, body: String(reply.body).replace(pattern, () => text) } : reply;
}

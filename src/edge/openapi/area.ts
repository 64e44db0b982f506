/**
 * `GET /openapi.json`: the document of an area, on its own port or below its
 * prefix. It needs no token, because it contains only facts of the manual.
 *
 * This hides no path of the store: the first segment of those is a command or a
 * word such as `pipeline`, and no command of Redis has the name `openapi.json`.
 * The area handles other methods.
 *
 * The document is printed on the first request for it and cached. Other requests
 * cost one comparison more.
 */

import type { HttpReply, HttpService, RequestHead } from "../handler.ts";
import { corsHeaders } from "../http/cors.ts";

export const OPENAPI_PATH = "/openapi.json";

export interface OpenApiOptions {
  /** Called once, on the first request for the document. */
  readonly print: () => Promise<string>;
  /** Whether pages of other origins may send requests. */
  readonly cors: boolean;
  /** Headers of the answer besides its type: name, value, … */
  readonly headers?: readonly string[];
}

/** The area, with its document. */
export function withOpenApi(area: HttpService, { print, cors, headers = [] }: OpenApiOptions): HttpService {
  let printed: Promise<string> | undefined;
  const document = async (head: RequestHead): Promise<HttpReply> => {
    printed ??= print();
    const isForPage = cors && head.header("origin") !== undefined;
    const all = [...headers, "Content-Type", "application/json", ...(isForPage ? corsHeaders : [])];
    return { status: 200, headers: all, body: await printed, route: OPENAPI_PATH };
  };
  return {
    ...area,
    handle: (request) => (isForDocument(request) ? document(request) : area.handle(request)),
    // A request for the document needs no body, and has no token that would allow one.
    bodyBytesMax: (target) => (isDocument(target) ? 0 : area.bodyBytesMax(target)),
    refuseEarly: (head) => (isForDocument(head) ? undefined : area.refuseEarly?.(head)),
  };
}

function isForDocument({ method, target }: RequestHead): boolean {
  return isDocument(target) && (method === "GET" || method === "HEAD");
}

function isDocument(target: string): boolean {
  if (!target.startsWith(OPENAPI_PATH)) return false;
  return target.length === OPENAPI_PATH.length || target[OPENAPI_PATH.length] === "?";
}

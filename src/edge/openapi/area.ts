/**
 * `GET /openapi.json`: the document of an area, on its own port or below its
 * prefix. It needs no token, because it holds nothing but what the manual says.
 *
 * Of the store's paths this takes none: the first segment of those is a command
 * or a word such as `pipeline`, and no command of Redis is called
 * `openapi.json`. Other methods are left to the area.
 *
 * The document is printed when it is first asked for, and kept; until then a
 * request costs one comparison more.
 */

import type { HttpReply, HttpService, RequestHead } from "../handler.ts";
import { corsHeaders } from "../http/cors.ts";

export const OPENAPI_PATH = "/openapi.json";

export interface OpenApiOptions {
  /** Called once, when somebody asks. */
  readonly print: () => Promise<string>;
  /** Whether pages of other origins may ask. */
  readonly cors: boolean;
  /** Of the answer, besides its type: name, value, … */
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
    handle: (request) => (asksForDocument(request) ? document(request) : area.handle(request)),
    // Nobody needs a body to ask, and no token tells who sends one.
    bodyBytesMax: (target) => (isDocument(target) ? 0 : area.bodyBytesMax(target)),
    refuseEarly: (head) => (asksForDocument(head) ? undefined : area.refuseEarly?.(head)),
  };
}

function asksForDocument({ method, target }: RequestHead): boolean {
  return isDocument(target) && (method === "GET" || method === "HEAD");
}

function isDocument(target: string): boolean {
  if (!target.startsWith(OPENAPI_PATH)) return false;
  return target.length === OPENAPI_PATH.length || target[OPENAPI_PATH.length] === "?";
}

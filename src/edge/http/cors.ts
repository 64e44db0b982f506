/**
 * CORS. Pages call the original with read-only tokens, so every origin is
 * allowed. Only the token gives rights; credentials such as cookies are never
 * used (H.cors, threats S-15). A setting turns it off.
 */
import type { HttpReply, RequestHead } from "../handler.ts";
import { unprefixedHeader } from "../names.ts";

const PREFLIGHT_SECONDS = "86400";

const plainHeaders = ["authorization", "content-type", "accept", "cache-control", "user-agent"];

/** Headers of every reply to a request that names an origin. */
export const corsHeaders: readonly string[] = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Expose-Headers",
  "Service-Sync-Token, Upstash-Sync-Token, Retry-After",
];

/** A browser's preflight request: OPTIONS with an origin and a method. */
export function isPreflight(request: RequestHead): boolean {
  return (
    request.method === "OPTIONS" &&
    request.header("origin") !== undefined &&
    request.header("access-control-request-method") !== undefined
  );
}

/** Allows those of the requested headers that we know. `methods` are those of the area. */
export function preflightReply(request: RequestHead, methods = "GET, HEAD, POST, PUT"): HttpReply {
  const requested = (request.header("access-control-request-headers") ?? "").split(",");
  const allowed = requested.map((name) => name.trim().toLowerCase()).filter(isAllowedHeader);
  return {
    status: 204,
    headers: [
      "Access-Control-Allow-Origin",
      "*",
      "Access-Control-Allow-Methods",
      methods,
      "Access-Control-Allow-Headers",
      (allowed.length > 0 ? allowed : plainHeaders).join(", "),
      "Access-Control-Max-Age",
      PREFLIGHT_SECONDS,
    ],
    body: "",
    route: "preflight",
  };
}

function isAllowedHeader(name: string): boolean {
  if (plainHeaders.includes(name)) return true;
  return unprefixedHeader(name) !== undefined && /^[a-z0-9-]+$/.test(name);
}

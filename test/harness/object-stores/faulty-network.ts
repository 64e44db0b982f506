/** A network between a client of S3 and its server that does one wrong thing, at one request. */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import type { HttpSend } from "../../../src/replication/objects/s3/http.ts";
import { answerOf, type FakeS3, problem, received } from "./fake-s3.ts";

export const NETWORK_FAULTS = [
  "request lost",
  "answer lost",
  "request stalls",
  "answer stalls",
  "sent twice",
  "late and repeated",
  "answer cut",
  "head cut",
  "500",
  "500 after it was done",
  "502 of a proxy",
  "503 SlowDown",
  "429",
  "412",
  "409",
  "404 of a proxy",
] as const;

export type NetworkFault = (typeof NETWORK_FAULTS)[number];

/** Longer than a request may be without progress. */
const STALL_MS = 31_000;

export interface FaultyNetwork {
  readonly send: HttpSend;
  /** How many requests were sent. */
  readonly requestCount: number;
}

/** The request with the number `at`, from 1, meets the fault. Stalls advance the clock. */
export function faultyNetwork(
  server: FakeS3,
  { fault, at, clock }: { readonly fault: NetworkFault; readonly at: number; readonly clock: VirtualClock },
): FaultyNetwork {
  let requestCount = 0;
  const stall = (): Promise<never> => {
    setImmediate(() => clock.advance(STALL_MS));
    return new Promise(() => {});
  };
  const send: HttpSend = async (request) => {
    requestCount += 1;
    const isFaulty = requestCount === at;
    const whole = await received(request);
    if (!isFaulty) return answerOf(server.handle(whole));
    const code = (status: number, name: string, headers = {}) => answerOf(problem(status, name, headers));
    switch (fault) {
      case "request lost":
        throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      case "answer lost":
        server.handle(whole);
        throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      case "request stalls":
        return stall();
      case "answer stalls": {
        const { status, headers, body } = server.handle(whole);
        const pieces = async function* (): AsyncIterable<Uint8Array> {
          yield body.subarray(0, 1);
          await stall();
        };
        return { status, headers, body: pieces() };
      }
      case "sent twice":
        server.handle(whole);
        return answerOf(server.handle(whole));
      case "late and repeated": {
        // The client has given up and asked again when the server gets the first request.
        setImmediate(() => setImmediate(() => setImmediate(() => server.handle(whole))));
        throw Object.assign(new Error("timeout"), { code: "ETIMEDOUT" });
      }
      case "answer cut": {
        const { status, headers, body } = server.handle(whole);
        const pieces = async function* (): AsyncIterable<Uint8Array> {
          yield body.subarray(0, body.length >> 1);
          throw Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" });
        };
        return { status, headers, body: pieces() };
      }
      case "head cut":
        server.handle(whole);
        throw Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" });
      case "500":
        return code(500, "InternalError");
      case "500 after it was done":
        server.handle(whole);
        return code(500, "InternalError");
      case "502 of a proxy":
        return answerOf({ status: 502, headers: {}, body: Buffer.from("<html>Bad Gateway</html>") });
      case "503 SlowDown":
        return code(503, "SlowDown", { "retry-after": "7" });
      case "429":
        return code(429, "TooManyRequests");
      case "412":
        return code(412, "PreconditionFailed");
      case "409":
        return code(409, "ConditionalRequestConflict");
      case "404 of a proxy":
        return answerOf({ status: 404, headers: {}, body: Buffer.from("<html>Not Found</html>") });
      default: {
        const never: never = fault;
        return never;
      }
    }
  };
  return {
    send,
    get requestCount() {
      return requestCount;
    },
  };
}

/**
 * The HTTP interface of the vector index on an API that each
 * test defines: its calls are recorded, and it answers as the test specifies.
 *
 *     const edge = vectorEdge({ namespaceNames: () => [""] });
 *     const reply = await edge.send("GET /list-namespaces");
 *     edge.calls; // [["namespaceNames"]]
 */
import { TokenTable } from "../../src/edge/auth.ts";
import type { HttpRequest } from "../../src/edge/handler.ts";
import { VectorArea, type VectorAreaOptions } from "../../src/edge/vector/area.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { Turns } from "../../src/kernel/turns.ts";
import type { IndexApi } from "../../src/vector/api.ts";
import { defaultVectorLimits } from "../../src/vector/limits.ts";
import { type EdgeReply, type EdgeSend, edgeReply, edgeRequest } from "./messaging-edge.ts";

export const VECTOR_TOKEN = "vector-token";
export const VECTOR_READ_ONLY_TOKEN = "vector-read-only-token";
/** The token of another existing index. */
export const OTHER_TOKEN = "other-vector-token";

export interface VectorEdge {
  readonly area: VectorArea;
  readonly clock: VirtualClock;
  /** The calls of the index `main`: name of the method, then its arguments. */
  readonly calls: unknown[][];
  /** `POST /query/…` */
  send(line: string, options?: EdgeSend): Promise<EdgeReply>;
}

/** `answers` has the methods of the index; calling any other is an error of the test. */
export function vectorEdge(answers: Partial<IndexApi> = {}, options: Partial<VectorAreaOptions> = {}): VectorEdge {
  const calls: unknown[][] = [];
  const clock = new VirtualClock();
  const tokens = new TokenTable(Buffer.alloc(32, 3));
  tokens.add(VECTOR_TOKEN, { tenant: "main", access: "standard" });
  tokens.add(VECTOR_READ_ONLY_TOKEN, { tenant: "main", access: "read-only" });
  tokens.add(OTHER_TOKEN, { tenant: "other", access: "standard" });
  const indexes = new Map([
    ["main", recordingIndex("main", answers, calls)],
    ["other", recordingIndex("other", { namespaceNames: () => ["of the other index"] }, [])],
  ]);
  const area = new VectorArea({
    vector: { index: (name) => indexes.get(name) },
    tokens,
    cors: true,
    limits: defaultVectorLimits,
    clock,
    turns: new Turns({ clock }),
    ...options,
  });
  return {
    area,
    clock,
    calls,
    async send(line, sent) {
      return edgeReply(await area.handle(vectorRequest(line, sent)));
    },
  };
}

export function vectorRequest(line: string, sent: EdgeSend = {}): HttpRequest {
  return edgeRequest(line, { token: VECTOR_TOKEN, ...sent });
}

function recordingIndex(name: string, answers: Partial<IndexApi>, calls: unknown[][]): IndexApi {
  const recorded: Record<string, unknown> = { name, whenSafe: () => undefined };
  for (const [member, answer] of Object.entries(answers)) {
    if (typeof answer !== "function" || member === "whenSafe") recorded[member] = answer;
    else {
      const method = answer as (...given: unknown[]) => unknown;
      recorded[member] = (...given: unknown[]) => {
        calls.push([member, ...given]);
        return method(...given);
      };
    }
  }
  return recorded as unknown as IndexApi;
}

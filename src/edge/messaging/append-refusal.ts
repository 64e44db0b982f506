/**
 * Refusals of steps of running workflow runs (W.append). Clients read a 400 to a
 * step as "the run has ended": they answer 200 and stop, and the run would never
 * continue. So every fault of a step of a running run is 412, like its limits: the
 * run fails, and its text has the reason. An invoke is a step of the run that its
 * body names.
 */

import { parseJson } from "../../kernel/json/document.ts";
import { MessagingFailure } from "../../messaging/mod.ts";
import { RequestFailure } from "../errors.ts";
import { unprefixedHeader } from "../names.ts";
import type { MessagingCall, MessagingRoute } from "./route.ts";

const RUN_ID = "workflow-runid";
const INVOKE = "workflow-invoke";

/** Wraps a route that takes steps of runs. */
export function takingSteps(run: MessagingRoute["run"]): MessagingRoute["run"] {
  return (call) => {
    const refuse = (failure: unknown): never => {
      throw failureOfRun(call, failure);
    };
    try {
      const answer = run(call);
      return answer instanceof Promise ? answer.catch(refuse) : answer;
    } catch (failure) {
      return refuse(failure);
    }
  };
}

function failureOfRun(call: MessagingCall, failure: unknown): unknown {
  const isRefusal = failure instanceof MessagingFailure || failure instanceof RequestFailure;
  if (!isRefusal || failure.kind !== "bad request") return failure;
  const isRunning = runIdsOf(call).some((id) => call.api.workflows.find(id)?.isStarted === true);
  return isRunning ? new MessagingFailure("quota exceeded", failure.text) : failure;
}

/** The runs that a request names, even if it is invalid otherwise. */
function runIdsOf({ head, request, ownQuery }: MessagingCall): readonly string[] {
  const own = [...head.own, ...ownQuery.own];
  const ids = idsOfMessage((name) => valuesOf(own, name), request.body);
  return ids.length > 0 ? ids : idsOfBatch(request.body);
}

/** The run that waits for the answer to a message: its own, or the one that invokes it. */
function idsOfMessage(values: (name: string) => readonly string[], body: Buffer | string): readonly string[] {
  const ids = values(RUN_ID);
  if (values(INVOKE).length === 0) return ids;
  const invoke = parsed(body);
  const invoker = typeof invoke === "object" && invoke !== null && "workflowRunId" in invoke && invoke.workflowRunId;
  return typeof invoker === "string" ? [invoker] : ids;
}

function valuesOf(own: readonly string[], name: string): readonly string[] {
  return own.filter((_, index) => index % 2 === 1 && own[index - 1] === name);
}

function idsOfBatch(body: Buffer): readonly string[] {
  const elements = parsed(body);
  if (!Array.isArray(elements)) return [];
  return elements.flatMap((element: { headers?: unknown; body?: unknown } | null) => {
    const headers = Object.entries(element?.headers ?? {});
    const values = (name: string): readonly string[] =>
      headers.flatMap(([written, value]) =>
        unprefixedHeader(written.trim().toLowerCase()) === name ? [value].flat().map(String) : [],
      );
    return idsOfMessage(values, typeof element?.body === "string" ? element.body : "");
  });
}

/** Undefined: it is not JSON. */
function parsed(body: Buffer | string): unknown {
  try {
    return parseJson(typeof body === "string" ? Buffer.from(body) : body);
  } catch {
    return undefined;
  }
}

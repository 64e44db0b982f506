/**
 * Refusals of steps of running workflow runs (W.append). Clients read a 400 to a
 * step as "the run has ended": they answer 200 and stop, and the run would never
 * continue. So every fault of a step of a running run is 412, like its limits: the
 * run fails, and its text has the reason.
 */

import { parseJson } from "../../kernel/json/document.ts";
import { MessagingFailure } from "../../messaging/mod.ts";
import { RequestFailure } from "../errors.ts";
import { unprefixedHeader } from "../names.ts";
import type { MessagingCall, MessagingRoute } from "./route.ts";

const RUN_ID = "workflow-runid";

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
  const ids = [...valuesOf(head.own), ...valuesOf(ownQuery.own)];
  return ids.length > 0 ? ids : idsOfBatch(request.body);
}

function valuesOf(own: readonly string[]): readonly string[] {
  return own.filter((_, index) => index % 2 === 1 && own[index - 1] === RUN_ID);
}

function idsOfBatch(body: Buffer): readonly string[] {
  let elements: unknown;
  try {
    elements = parseJson(body);
  } catch {
    return [];
  }
  if (!Array.isArray(elements)) return [];
  return elements.flatMap((element: { headers?: unknown } | null) =>
    Object.entries(element?.headers ?? {}).flatMap(([name, value]) =>
      unprefixedHeader(name.trim().toLowerCase()) === RUN_ID ? [value].flat().map(String) : [],
    ),
  );
}

/**
 * How `serve` of `upstash/workflow-py` (a8b6213, 0613be1) reads a delivery: with which headers it takes it for what, and the
 * fields that it needs. Header names are compared without regard to case, as FastAPI and Flask do.
 */
import assert from "node:assert/strict";
import type { Call } from "../../harness/messaging-harness.ts";

/** What the route function, or `serve` itself, gets. */
export type Delivery = {
  readonly runId: string;
  /** A header of the user. */
  readonly team: string | undefined;
} & (
  | {
      readonly kind: "steps";
      readonly payload: string;
      readonly steps: readonly (readonly [id: unknown, name: unknown, type: unknown, out: unknown])[];
    }
  | {
      readonly kind: "callback";
      /** Id, name, type, number of parallel steps, content type. */
      readonly step: readonly (string | undefined)[];
      readonly status: unknown;
      readonly body: string;
      readonly header: unknown;
    }
  | { readonly kind: "failure"; readonly status: unknown; readonly message: unknown; readonly url: unknown }
);

/** Throws where the client does. */
export function readDelivery({ headers, body }: Call): Delivery {
  const runId = headers.get("upstash-workflow-runid");
  const team = headers.get("x-team");
  assert.ok(headers.get("upstash-signature"), "a signature");
  if (headers.get("upstash-workflow-is-failure") === "true") return failureOf(body, team);
  assert.ok(runId, "the id of the run");
  if (headers.get("upstash-workflow-callback") !== undefined) return { ...callbackOf(headers, body), runId, team };
  assert.equal(headers.get("upstash-workflow-sdk-version"), "1", "without it, the client starts a new run");
  const [first, ...entries] = JSON.parse(body) as Readonly<Record<string, unknown>>[];
  const steps = entries.filter((entry) => field(entry, "callType") === "step").map(stepOf);
  return { kind: "steps", runId, team, payload: decoded(field(first, "body")), steps };
}

function stepOf(entry: unknown): readonly [unknown, unknown, unknown, unknown] {
  const step: unknown = JSON.parse(decoded(field(entry, "body")));
  field(step, "concurrent");
  const out = field(step, "out");
  assert.ok(typeof out === "string", "json.loads reads texts only");
  return [field(step, "stepId"), field(step, "stepName"), field(step, "stepType"), JSON.parse(out)];
}

function callbackOf(headers: Call["headers"], body: string) {
  const message: unknown = JSON.parse(body);
  const step = ["stepid", "stepname", "steptype", "concurrent", "contenttype"].map((name) =>
    headers.get(`upstash-workflow-${name}`),
  );
  const status = field(message, "status");
  return {
    kind: "callback",
    step,
    status,
    body: decoded(field(message, "body")),
    header: field(message, "header"),
  } as const;
}

function failureOf(body: string, team: string | undefined): Delivery {
  const message: unknown = JSON.parse(body);
  const error: unknown = JSON.parse(decoded(field(message, "body")));
  for (const name of ["header", "sourceBody"]) field(message, name);
  return {
    kind: "failure",
    runId: String(field(message, "workflowRunId")),
    team,
    status: field(message, "status"),
    message: field(error, "message"),
    url: field(message, "url"),
  };
}

/** Python's `object[name]`. */
function field(object: unknown, name: string): unknown {
  assert.ok(typeof object === "object" && object !== null && Object.hasOwn(object, name), `KeyError: ${name}`);
  return (object as Readonly<Record<string, unknown>>)[name];
}

function decoded(base64: unknown): string {
  return Buffer.from(String(base64), "base64").toString("utf8");
}

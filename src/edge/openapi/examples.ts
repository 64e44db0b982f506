/**
 * Examples of bodies, answers and path segments for the OpenAPI documents. The
 * rows of common operations have their own; the others are made here from the
 * schema, with a value for each name of a field. An answer made here has the
 * fields that every answer has.
 */
import type { Schema } from "./schema.ts";

export const MESSAGE_ID = "msg_7YoJxFpwkEy5zBp378JgvD6";
const RUN_ID = "wfr_2b1c5d";
export const JOB_URL = "https://app.example/api/job";
const UNIX_MS = 1_767_225_600_000;
const UNIX_SECONDS = 1_767_225_600;

/** By the name of the field or of the part of the path. */
const values: Readonly<Record<string, unknown>> = {
  // Names and ids that callers choose.
  arguments: "greeting",
  channel: "news",
  command: "ping",
  eventId: "order-7",
  flowControlKey: "mailer",
  id: "a",
  message: "hello",
  name: "main",
  namespace: "books",
  newNamespace: "archive",
  pattern: "news.*",
  queueName: "mail",
  scheduleId: "nightly",
  urlGroupName: "workers",
  userId: "main",
  // Those of larder.
  cursor: "100",
  dlqId: "1767225600000-0",
  messageId: MESSAGE_ID,
  uuid: "0b6c8f0e",
  workflowRunId: RUN_ID,
  // Addresses, times and bodies.
  body: "eyJpZCI6N30=",
  callType: "step",
  createdAt: UNIX_MS,
  cron: "0 3 * * *",
  data: "A lighthouse keeper writes letters",
  deadline: UNIX_SECONDS,
  destination: JOB_URL,
  error: "ERR …",
  filter: "city = 'Oslo'",
  method: "POST",
  notBefore: UNIX_MS,
  ratePeriodStart: UNIX_SECONDS,
  responseBody: "the queue is full",
  responseStatus: 500,
  retries: 3,
  score: 0.92,
  similarityFunction: "COSINE",
  time: UNIX_MS,
  timeoutUrl: JOB_URL,
  updatedAt: UNIX_MS,
  url: JOB_URL,
  vector: [0.1, 0.9, 0.3],
  workflowCreatedAt: UNIX_MS,
  workflowRunCreatedAt: UNIX_MS,
  workflowUrl: "https://app.example/api/order",
  // The admin port and the console.
  area: "store",
  callerIP: "127.0.0.1",
  callerIp: "127.0.0.1",
  csrf: "9f3c…",
  current: "sig_…",
  directory: "/var/backups/larder",
  kind: "databases",
  next: "sig_…",
  node: "26.10.0",
  path: "info",
  position: 1_204,
  readOnlyToken: "…",
  rest: "chat/completions",
  source: "data directory",
  state: "serving",
  status: 200,
  step: { stepId: 1, stepName: "wait", stepType: "Wait", concurrent: 1 },
  token: "…",
  version: "0.1.0",
  what: "token of main",
};

/** The value of a part of a path; its name if it has none. */
export function pathExample(name: string): unknown {
  return values[name] ?? name;
}

/** The schema that a reference names, or the schema itself. */
type Resolve = (schema: Schema) => Schema;

/** A value of this schema, for a field of this name. */
export function exampleOf(given: Schema, resolve: Resolve, name = ""): unknown {
  const schema = resolve(given);
  const { anyOf, enum: words, default: usual, type, items = {}, minimum = 0 } = schema;
  if (anyOf !== undefined) return exampleOf(anyOf[0] ?? {}, resolve, name);
  if (words !== undefined) return usual ?? words[0];
  if (usual !== undefined) return usual;
  const known = Object.hasOwn(values, name) ? values[name] : undefined;
  switch (type) {
    case "object":
      return isObject(known) ? known : objectOf(schema, resolve);
    case "array":
      return Array.isArray(known) ? known : [exampleOf(items, resolve, name)];
    case "string":
      return typeof known === "string" ? known : name;
    case "integer":
    case "number":
      return typeof known === "number" ? known : Math.max(1, minimum);
    case "boolean":
      return false;
    default:
      return known ?? null;
  }
}

function objectOf({ properties = {}, required = [] }: Schema, resolve: Resolve): object {
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {}, resolve, name)]));
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

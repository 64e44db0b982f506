/**
 * Properties of every answer to any request. A row judges one
 * exchange and returns the fault, or undefined.
 */
import type { ReadDocument, ReadOperation } from "./document.ts";
import type { DrawnRequest } from "./requests.ts";
import type { Subject } from "./subjects.ts";
import { faultOf } from "./validate.ts";

export type TokenGiven = "standard" | "standard in the query" | "read-only" | "wrong" | "none";

export interface Exchange {
  readonly subject: Subject;
  readonly document: ReadDocument;
  /** The operation that answered. */
  readonly operation: ReadOperation;
  readonly request: DrawnRequest;
  readonly token: TokenGiven;
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** True if the stored state did not change; undefined if not checked. */
  readonly isStateSame: boolean | undefined;
}

export interface Oracle {
  readonly name: string;
  readonly judge: (exchange: Exchange) => string | undefined;
}

/** The statuses of invalid requests: the error text names a field. */
const inputErrors: readonly number[] = [400, 412, 422];

/**
 * Texts without a field that must stay unchanged, with the reason.
 */
const prescribedTexts: readonly { readonly text: RegExp; readonly reason: string }[] = [
  {
    text: /^This index requires (?:dense|sparse) vectors$/,
    reason: "clients of the hosted service compare it (B.vectors)",
  },
  {
    text: /^Invalid vector dimension: \d+, expected: \d+$/,
    reason: "clients of the hosted service compare it (B.vectors)",
  },
  {
    text: /^Embedding data for this index is not allowed\. The index must be created with an embedding model to use it\.$/,
    reason: "clients of the hosted service compare it (B.vectors)",
  },
];

export const oracles: readonly Oracle[] = [
  {
    name: "no internal error",
    judge: ({ operation, status }) =>
      status >= 500 && !(status === 501 && operation.answers.has(501)) ? `status ${status}` : undefined,
  },
  {
    name: "the status is in the document",
    judge: ({ operation, status }) => (operation.answers.has(status) ? undefined : `status ${status}`),
  },
  { name: "the body has the shape of the document", judge: judgeShape },
  { name: "an error names a field of the request", judge: judgeErrorText },
  {
    name: "without a token every answer is 401",
    judge: ({ operation, token, status }) =>
      operation.token !== "open" && (token === "none" || token === "wrong") && status !== 401
        ? `status ${status}`
        : undefined,
  },
  {
    name: "a valid token is not refused",
    judge: ({ operation, token, status }) =>
      token === "standard" && (status === 401 || status === 403) ? `status ${status} of ${operation.id}` : undefined,
  },
  {
    name: "a read-only token stays within its permissions",
    judge: ({ operation, token, status }) =>
      token === "read-only" && operation.token === "standard" && status < 400 ? `status ${status}` : undefined,
  },
  {
    name: "a read-only token changes nothing",
    judge: ({ operation, isStateSame }) =>
      isStateSame === false && operation.token !== "open" ? "the stored state has changed" : undefined,
  },
  {
    name: "no answer contains a secret",
    judge({ subject, operation, text }) {
      const found = subject.canaries.find(
        (canary) => text.includes(canary.text) && !canary.allowedIn.includes(operation.id),
      );
      return found === undefined ? undefined : `it contains ${found.text}`;
    },
  },
];

function judgeShape({ document, operation, request, status, contentType, text }: Exchange): string | undefined {
  const declared = operation.answers.get(status);
  // Another oracle covers undocumented statuses; transports send no body to a HEAD.
  if (declared === undefined || request.method === "HEAD") return undefined;
  const type = contentType.split(";")[0] ?? "";
  const schema = declared.content.get(type);
  if (schema === undefined) return `content type ${contentType}`;
  if (type !== "application/json") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `no JSON: ${text.slice(0, 80)}`;
  }
  return faultOf(value, schema, document.resolve);
}

function judgeErrorText({ subject, operation, request, status, contentType, text }: Exchange): string | undefined {
  if (!inputErrors.includes(status) || request.method === "HEAD" || !contentType.includes("json")) return undefined;
  const error = errorOf(text);
  if (error === undefined) return undefined;
  // Redis' texts name no field; each begins with a code word (A.errors).
  if (subject.name === "store") return /^[A-Z]+ \S/.test(error) ? undefined : `no code word: ${error}`;
  if (prescribedTexts.some((prescribed) => prescribed.text.test(error))) return undefined;
  const names = new Set(Array.from(nameForms(operation, request), plain));
  const words = error.toLowerCase().match(/[a-z0-9_-]+/g) ?? [];
  if (words.some((word) => names.has(plain(word)))) return undefined;
  // Names chosen by the caller may be any text, and are shown as JSON.
  const isNamed = (name: string): boolean => error.includes(name) || error.includes(JSON.stringify(name));
  return request.names.some((name) => /[^\w-]/.test(name) && isNamed(name)) ? undefined : `no field: ${error}`;
}

/** The names of all fields of a request, in lower case. */
function* nameForms({ parameters, body }: ReadOperation, request: DrawnRequest): Generator<string> {
  // The request as a whole, and the words for the destination and the filters of a path or a query.
  yield* ["body", "path", "query", "destination", "filter"];
  // The names of elements of a list body.
  yield* ["vectors", "queries", "batch"];
  for (const name of [...parameters.map((parameter) => parameter.name), ...request.names]) {
    const lower = name.toLowerCase();
    yield lower;
    yield lower.replace(/^(?:service|upstash)-/, "");
  }
  if (body !== undefined)
    yield* Array.from(JSON.stringify(body.schema).matchAll(/"(\w+)":/g), ([, name = ""]) => name.toLowerCase());
}

/** The header Workflow-RunId and the field workflowRunId are one name. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll("-", "");
}

function errorOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const error = typeof value === "object" && value !== null && "error" in value ? value.error : undefined;
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}

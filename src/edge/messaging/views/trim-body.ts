/**
 * `trimBody`: truncates the bodies in a list, so that pages with large bodies are
 * short. The length is in characters for texts and in bytes for base64. The hash
 * of a redacted body is not truncated.
 */
import { type Parameters, parseWholeNumber } from "../parameters.ts";

const TRIM_BODY = "trimBody";

export const trimBodyRow = {
  name: TRIM_BODY,
  meaning: "a whole number: truncates each body to so many characters, or bytes of a body in base64",
} as const;

const TEXTS: ReadonlySet<string> = new Set([
  "body",
  "responseBody",
  "out",
  "callBody",
  "callResponseBody",
  "invokedWorkflowRunBody",
  "workflowRunResponse",
  "failResponse",
]);
const BASE64: ReadonlySet<string> = new Set(["bodyBase64", "responseBodyBase64"]);
/** Fields in base64 in log entries. */
const BASE64_IN_LOGS: ReadonlySet<string> = new Set([...BASE64, "body", "responseBody"]);

/** Returns a function that truncates views as the parameters require. Throws a `MessagingFailure`. */
export function readTrimming(parameters: Parameters): (view: object, isOfLog?: boolean) => object {
  const text = parameters.text(TRIM_BODY);
  if (text === undefined || text === "false") return (view) => view;
  const length = parseWholeNumber(TRIM_BODY, text);
  return (view, isOfLog = false) => trimmed(view, length, isOfLog ? BASE64_IN_LOGS : BASE64) as object;
}

function trimmed(value: unknown, length: number, base64: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => trimmed(item, length, base64));
  if (typeof value !== "object" || value === null) return value;
  const shown: Record<string, unknown> = Object.create(null);
  for (const [name, field] of Object.entries(value)) {
    if (typeof field !== "string") shown[name] = trimmed(field, length, base64);
    else if (field.startsWith("REDACTED:")) shown[name] = field;
    else if (base64.has(name)) shown[name] = trimmedBase64(field, length);
    else shown[name] = TEXTS.has(name) ? trimmedText(field, length) : field;
  }
  return shown;
}

function trimmedText(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalf ? length - 1 : length);
}

function trimmedBase64(text: string, length: number): string {
  const start = text.slice(0, Math.ceil(length / 3) * 4);
  return Buffer.from(start, "base64").subarray(0, length).toString("base64");
}

/**
 * `trimBody`: a list that shows the start of each body alone, so that a page of
 * large ones is short. Texts are cut to so many characters, what is in base64 to
 * so many bytes. A hash that stands for a body stays whole.
 */
import { badRequest } from "../../../messaging/mod.ts";
import { type Parameters, parseWholeNumber } from "../parameters.ts";

const TRIM_BODY = "trimBody";

export const trimBodyRow = {
  name: TRIM_BODY,
  meaning: "a whole number: of each body so many characters are shown at most, of one in base64 so many bytes",
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
/** In entries of the log these are in base64 too. */
const BASE64_IN_LOGS: ReadonlySet<string> = new Set([...BASE64, "body", "responseBody"]);

/** Makes views shorter as the parameters ask for it. Throws a `MessagingFailure`. */
export function readTrimming(parameters: Parameters): (view: object, isOfLog?: boolean) => object {
  const text = parameters.text(TRIM_BODY);
  if (text === undefined || text === "false") return (view) => view;
  if (text === "true") throw badRequest(`Invalid value for ${TRIM_BODY}: "true": say how long bodies may be, or 0`);
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

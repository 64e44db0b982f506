/** Reads the request of a run that starts another run and waits for its end (W.invoke). */
import { JsonTooLarge, parseJson } from "../../kernel/json/document.ts";
import { jsonText } from "../../kernel/json/text.ts";
import { badRequest, inField } from "../failure.ts";
import { checkHeaderName, isForwarded } from "../options/forwarded-headers.ts";
import { acceptedOptions } from "../options/headers.ts";
import { checkRunId } from "../options/workflow-options.ts";
import type { Invoker } from "../state/run.ts";

/** Throws a `MessagingFailure` that names the field. */
export function readInvoke(bytes: Buffer): { readonly invoker: Invoker; readonly body: Buffer } {
  const given = readObject(bytes);
  const runId = given["workflowRunId"];
  const url = given["workflowUrl"];
  const step = given["step"];
  if (typeof runId !== "string") throw invalid("workflowRunId", "the id of the run that invokes");
  checkRunId(runId);
  if (typeof url !== "string" || URL.parse(url) === null) throw invalid("workflowUrl", "a URL");
  if (!isObject(step)) throw invalid("step", "an object");
  const createdAtMs = Number(given["workflowRunCreatedAt"] ?? 0);
  return {
    invoker: {
      runId,
      url,
      createdAtMs: Number.isSafeInteger(createdAtMs) ? createdAtMs : 0,
      headers: headersOf(given["headers"], "headers"),
      step,
    },
    body: bodyOf(given["body"]),
  };
}

const NAMES = /^(?:upstash|service)-/;
/** Without that. */
const FORWARD = "forward-";

/** Prefix of a header that is forwarded unchanged. Header names have no colon. */
export const PLAIN = "header:";

/**
 * Our headers in a map of headers, `{name: [value]}`: names in lower case without prefix, value, … Other headers are
 * ignored, or forwarded if a message may forward them. All are valid as headers of a message, which is made later. Throws
 * a `MessagingFailure` that names the field.
 */
export function headersOf(map: unknown, field: string, { areOthersSent = false } = {}): readonly string[] {
  if (map === undefined || map === null) return [];
  if (!isObject(map)) throw invalid(field, "an object");
  const own: string[] = [];
  for (const [written, value] of Object.entries(map)) {
    const name = written.trim().toLowerCase();
    for (const text of Array.isArray(value) ? value : [value]) {
      if (typeof text !== "string") throw invalid(`${field}.${written}`, "a list of strings");
      const isOurs = NAMES.test(name);
      const bare = name.replace(NAMES, "");
      const isSent = isOurs ? bare.startsWith(FORWARD) : areOthersSent && isForwarded(name);
      // As it was written: the list has it in lower case.
      if (isSent) inField(field, () => checkHeaderName(written.trim()));
      if (isOurs) own.push(bare, text);
      else if (name === "content-type") own.push(name, text);
      else if (isSent) own.push(PLAIN + name, text);
    }
  }
  inField(field, () => acceptedOptions(partHeaders(own)));
  return own;
}

/** Separates our headers from the content type. */
export function partHeaders(given: readonly string[]): {
  readonly own: readonly string[];
  readonly contentType: string | undefined;
} {
  const own: string[] = [];
  let contentType: string | undefined;
  for (let i = 0; i < given.length; i += 2) {
    const name = given[i] as string;
    const value = given[i + 1] as string;
    if (name === "content-type") contentType = value;
    else if (name.startsWith(PLAIN)) own.push(`forward-${name.slice(PLAIN.length)}`, value);
    else own.push(name, value);
  }
  return { own, contentType };
}

function bodyOf(body: unknown): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0);
  return Buffer.from(typeof body === "string" ? body : jsonText(body));
}

function readObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(bytes);
    if (isObject(value)) return value;
  } catch (error) {
    if (error instanceof JsonTooLarge) throw badRequest(`The body of an invoke ${error.message}`);
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw badRequest(
    "The body of an invoke must be a JSON object with body, headers, workflowRunId, workflowUrl and step",
  );
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(field: string, wanted: string): unknown {
  return badRequest(`Invalid value for ${field}: it must be ${wanted}`);
}

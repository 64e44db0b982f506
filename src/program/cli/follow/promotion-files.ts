/**
 * How `larder promote` asks the process that follows: a file in the directory, which
 * only its owner can write, and a file with the answer. Both are replaced as a whole.
 *
 * (1) A request counts for the process that runs when it is made. A later one removes
 *     it: nothing is promoted because of an old file.
 */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonText } from "../../../kernel/json/parse.ts";
import { assertFileIfThere } from "../../../persistence/disk/file-kind.ts";
import { NoText, readTextFile } from "../../../persistence/disk/text-file.ts";
import { codeOf } from "../../refusal.ts";

export interface PromotionRequest {
  /** Drawn, and repeated by the answer. */
  readonly id: string;
  /** How long the last reading of the store may take; 0: it is not read. */
  readonly withinMs: number;
}

export interface PromotionAnswer {
  readonly id: string;
  readonly outcome: "promoted" | "refused";
  /** For people. */
  readonly lines: readonly string[];
}

const REQUEST_FILE = "follow-request.json";
const ANSWER_FILE = "follow-answer.json";
const FILE_MODE = 0o600;

/** The names of these files in a directory. */
export const promotionFiles: readonly string[] = [REQUEST_FILE, ANSWER_FILE];

/** Throws `NotAFile` if something else has the name of one. */
export function assertPromotionFiles(directory: string): void {
  for (const name of promotionFiles) assertFileIfThere(join(directory, name));
}

export function writeRequest(directory: string, request: PromotionRequest): void {
  replace(join(directory, REQUEST_FILE), request);
}

export function writeAnswer(directory: string, answer: PromotionAnswer): void {
  replace(join(directory, ANSWER_FILE), answer);
}

/** Undefined: nothing is asked. */
export function readRequest(directory: string): PromotionRequest | undefined {
  const fields = fieldsIn(join(directory, REQUEST_FILE));
  const id = fields?.get("id");
  const withinMs = fields?.get("withinMs");
  return typeof id === "string" && typeof withinMs === "number" ? { id, withinMs } : undefined;
}

/** The answer to a request; undefined: it has not come yet. */
export function readAnswer(directory: string, id: string): PromotionAnswer | undefined {
  const fields = fieldsIn(join(directory, ANSWER_FILE));
  const outcome = fields?.get("outcome");
  const lines = fields?.get("lines");
  if (fields?.get("id") !== id || (outcome !== "promoted" && outcome !== "refused")) return undefined;
  return { id, outcome, lines: Array.isArray(lines) ? lines.map(String) : [] };
}

export function removeRequest(directory: string): void {
  rmSync(join(directory, REQUEST_FILE), { force: true });
}

/** keeps (1) */
export function removePromotionFiles(directory: string): void {
  for (const name of promotionFiles) rmSync(join(directory, name), { force: true });
}

function replace(path: string, value: PromotionRequest | PromotionAnswer): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(value)}\n`, { mode: FILE_MODE });
  renameSync(draft, path);
}

function fieldsIn(path: string): ReadonlyMap<string, unknown> | undefined {
  try {
    const value: unknown = parseJsonText(readTextFile(path));
    return typeof value === "object" && value !== null ? new Map(Object.entries(value)) : undefined;
  } catch (fault) {
    // Another program's text is no request.
    if (fault instanceof SyntaxError || fault instanceof NoText || codeOf(fault) === "ENOENT") return undefined;
    throw fault;
  }
}

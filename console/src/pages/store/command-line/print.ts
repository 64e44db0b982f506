/** A reply as redis-cli prints it on a terminal. */
import { quoted } from "../values/bytes.ts";
import { isFailure, isStatus, type Reply } from "../values/run.ts";

/** More is not printed. */
const PRINTED_LENGTH_MAX = 2_000_000;

export function printedReply(reply: Reply): string {
  const output: Output = { lines: [], length: 0 };
  print(reply, "", output);
  if (output.length > PRINTED_LENGTH_MAX) output.lines.push("… the rest of the reply is not printed");
  return output.lines.join("\n");
}

interface Output {
  readonly lines: string[];
  length: number;
}

/** `prefix`: before the first line; the other lines are indented by its length. */
function print(reply: Reply, prefix: string, output: Output): void {
  if (output.length > PRINTED_LENGTH_MAX) return;
  if (!Array.isArray(reply)) {
    const line = prefix + printedScalar(reply);
    output.lines.push(line);
    output.length += line.length;
    return;
  }
  const list = reply as readonly Reply[];
  if (list.length === 0) output.lines.push(`${prefix}(empty array)`);
  const width = `${list.length}`.length;
  for (const [index, item] of list.entries()) {
    const before = index === 0 ? prefix : " ".repeat(prefix.length);
    print(item, `${before}${`${index + 1}`.padStart(width)}) `, output);
  }
}

function printedScalar(reply: Reply): string {
  if (reply === null) return "(nil)";
  if (typeof reply === "number" || typeof reply === "bigint") return `(integer) ${reply}`;
  if (isFailure(reply)) return `(error) ${reply.error}`;
  if (isStatus(reply)) return reply.status;
  if (typeof reply !== "string") return "";
  return reply.length > PRINTED_LENGTH_MAX ? `${quoted(reply.slice(0, PRINTED_LENGTH_MAX))}…` : quoted(reply);
}

/** INFO and the like are text of many lines, which redis-cli prints as it is. */
export function printedText(reply: Reply, text: string | undefined): string {
  const isReport = typeof reply === "string" && text !== undefined && /^# \w+\r\n/.test(text);
  return isReport ? text.replaceAll("\r\n", "\n") : printedReply(reply);
}

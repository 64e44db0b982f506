/** Numbers and times as results show them. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Reply } from "../../reply/reply.ts";
import type { FieldType } from "../definition.ts";
import type { Members, Metric } from "./plan.ts";

/** The shortest text of a number, without `.0`; the same as JavaScript prints, because clients compare with that. */
export function numberText(value: number | bigint): Bytes {
  return `${value}`;
}

/** A metric: a text, or null without a value, and for a sum beyond all doubles. */
export function metricReply(value: Metric): Reply {
  return value === null || (typeof value === "number" && !Number.isFinite(value)) ? null : numberText(value);
}

const INTEGER_MIN = -(2n ** 63n);
const INTEGER_MAX = 2n ** 63n - 1n;

/** A key of a bucket: an integer if it is whole and fits 64 bits with a sign, otherwise a text. */
export function keyReply(value: number | bigint): Reply {
  if (typeof value === "bigint") return value >= INTEGER_MIN && value <= INTEGER_MAX ? value : numberText(value);
  // -0 is printed as 0.
  return Number.isSafeInteger(value) ? value + 0 : numberText(value);
}

/** A time in milliseconds as RFC 3339, with as many digits of the second as it needs. */
export function timeText(timeMs: number): Bytes {
  const date = new Date(timeMs);
  if (Number.isNaN(date.getTime())) return numberText(timeMs);
  return date.toISOString().replace(/\.?0*Z$/, "Z");
}

/** The members that name a bucket of this value. */
export function keyMembers(value: number | bigint, type: FieldType): Members {
  switch (type) {
    case "BOOL":
      return [
        ["key", keyReply(value)],
        ["keyAsString", value === 0 ? "false" : "true"],
      ];
    case "DATE":
      return [["key", timeText(Number(value))]];
    default:
      return [["key", keyReply(value)]];
  }
}

/**
 * Trace context: the two headers that pass a trace from one program to the next
 * (W3C recommendation Trace Context, with the random flag of its level 2).
 *
 *     traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *     tracestate: vendor=opaque,other@vendor=opaque
 *
 * (1) Invalid values are ignored: without a valid `traceparent`, `tracestate` is
 *     ignored too; an invalid `tracestate` does not affect the `traceparent`.
 * (2) Both have a bounded length, and only ASCII characters.
 */

export interface TraceContext {
  /** The value of `traceparent`. */
  readonly parent: string;
  /** The value of `tracestate`. */
  readonly state?: string;
}

export const TRACE_PARENT = "traceparent";
export const TRACE_STATE = "tracestate";

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const PARENT_LENGTH_MAX = 512;
const NO_VERSION = "ff";
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);
/** The flags of later versions that are known here: sampled, and random. */
const KNOWN_FLAGS = 0x03;

const KEY = /^[a-z0-9][a-z0-9_\-*/@]{0,255}$/;
/** No comma, no equals sign, and no blank at the end. */
const VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MEMBERS_MAX = 32;
/** The length that every program must pass on; the limit here. */
const STATE_LENGTH_MAX = 512;
/** If the value is too long, members longer than this are removed first. */
const MEMBER_LENGTH_SPARED = 128;
/** A longer value is not parsed. */
const STATE_LENGTH_READ_MAX = 8 * 1024;

/** The context of the two headers, or undefined. Several headers of one name are joined by commas. */
export function readTraceContext(parent: string | undefined, state: string | undefined): TraceContext | undefined {
  const kept = parent === undefined ? undefined : readParent(parent.trim());
  if (kept === undefined) return undefined;
  const keptState = state === undefined ? "" : readState(state);
  return keptState === "" ? { parent: kept } : { parent: kept, state: keptState };
}

/** name, value, … */
export function traceHeaders({ parent, state }: TraceContext): readonly string[] {
  return state === undefined ? [TRACE_PARENT, parent] : [TRACE_PARENT, parent, TRACE_STATE, state];
}

function readParent(parent: string): string | undefined {
  if (parent.length > PARENT_LENGTH_MAX) return undefined;
  const [, version, traceId, spanId, flags = "", rest] = PARENT.exec(parent) ?? [];
  if (version === undefined || version === NO_VERSION || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  if (version === "00") return rest === undefined ? parent : undefined;
  // A later version is sent as the version that is known here.
  const known = (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, "0");
  return `00-${traceId}-${spanId}-${known}`;
}

/** Empty if no member is valid. */
function readState(state: string): string {
  if (state.length > STATE_LENGTH_READ_MAX) return "";
  const members = state
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  const keys = new Set<string>();
  for (const member of members) {
    const sign = member.indexOf("=");
    const key = member.slice(0, Math.max(sign, 0));
    if (!KEY.test(key) || !VALUE.test(member.slice(sign + 1)) || keys.has(key)) return "";
    keys.add(key);
  }
  return members.length > MEMBERS_MAX ? "" : fitting(members).join(",");
}

/** Keeps whole members, the newest first, which are at the front. */
function fitting(members: readonly string[]): readonly string[] {
  let kept = members;
  while (lengthOf(kept) > STATE_LENGTH_MAX) {
    const long = kept.findLastIndex(({ length }) => length > MEMBER_LENGTH_SPARED);
    kept = kept.toSpliced(long, 1); // Without a long member `long` is -1: removes the last one.
  }
  return kept;
}

function lengthOf(members: readonly string[]): number {
  return members.reduce((sum, { length }) => sum + length + 1, -1);
}

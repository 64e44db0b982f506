/** CLIENT TRACKING and the subcommands about it: keys that a client caches (observe/tracking/). */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { Row } from "../command.ts";
import {
  broadcastSwitched,
  broadcastWithOptIn,
  cachingNoWithoutOptOut,
  cachingWithoutTracking,
  cachingYesWithoutOptIn,
  notInteger,
  optInAndOptOut,
  optInSwitched,
  prefixWithoutBroadcast,
  redirectMissing,
  redirectTwice,
  syntaxError,
} from "../errors.ts";
import type { Tracker, TrackingOptions } from "../observe/tracking/tracker.ts";
import { map, ok, type Reply, set } from "../reply/reply.ts";
import type { Session } from "../session/session.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";

export const trackingHelpLines: readonly string[] = [
  "TRACKING (ON|OFF) [REDIRECT <client-id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]",
  "    Turn notifications about changes of cached keys on or off.",
  "TRACKINGINFO",
  "    Return the options of TRACKING of this connection.",
];

export const cachingHelpLines: readonly string[] = [
  "CACHING (YES|NO)",
  "    Count the keys of the next command as cached (OPTIN), or do not (OPTOUT).",
];

export const redirectHelpLines: readonly string[] = [
  "GETREDIR",
  "    Return the id of the connection that gets the notifications of TRACKING: 0 for this one, -1 if it is off.",
];

/** `own`: the facts of commands about the connection itself. */
export function trackingRows(
  own: Pick<Row, "flags" | "categories" | "keys" | "run">,
): Record<"caching" | "getRedirect" | "tracking" | "trackingInfo", Row> {
  return {
    caching: {
      ...own,
      name: "CACHING",
      summary: "Sets whether the keys of the next command count as cached by the client",
      arity: 3,
      runInSession: caching,
    },
    getRedirect: {
      ...own,
      name: "GETREDIR",
      summary: "Returns the id of the connection that is notified in place of this one",
      arity: 2,
      runInSession: redirectOf,
    },
    tracking: {
      ...own,
      name: "TRACKING",
      summary: "Turns notifications about changes of cached keys on or off",
      arity: -3,
      runInSession: tracking,
    },
    trackingInfo: {
      ...own,
      name: "TRACKINGINFO",
      summary: "Returns the options of key tracking of this connection",
      arity: 2,
      runInSession: (session) =>
        map([
          ["flags", set(flagsOf(session.tracker))],
          ["redirect", redirectOf(session)],
          ["prefixes", [...(session.tracker?.prefixes ?? [])].sort()],
        ]),
    },
  };
}

function redirectOf({ tracker }: Session): number {
  return tracker?.options.redirectTo ?? -1;
}

function flagsOf(tracker: Tracker | undefined): string[] {
  if (tracker === undefined) return ["off"];
  const { isBroadcast, isOptIn, isOptOut, isNoLoop } = tracker.options;
  const flags: readonly (readonly [string, boolean])[] = [
    ["on", true],
    ["bcast", isBroadcast],
    ["optin", isOptIn],
    ["caching-yes", isOptIn && tracker.isCachingGiven],
    ["optout", isOptOut],
    ["caching-no", isOptOut && tracker.isCachingGiven],
    ["noloop", isNoLoop],
    ["broken_redirect", tracker.isBroken],
  ];
  return flags.flatMap(([name, holds]) => (holds ? [name] : []));
}

/** In the order of Redis: the options are checked before ON or OFF is. */
function tracking(session: Session, words: readonly Bytes[]): Reply {
  const { options, prefixes } = readOptions(session, words);
  switch (upperCase(words[2] as Bytes)) {
    case "ON":
      checkOptions(session.tracker?.options, options, prefixes);
      session.track(options, prefixes);
      return ok;
    case "OFF":
      session.stopTracking();
      return ok;
    default:
      throw syntaxError;
  }
}

function readOptions(
  { database }: Session,
  words: readonly Bytes[],
): { options: TrackingOptions; prefixes: readonly Bytes[] } {
  const named = new Set<string>();
  const prefixes: Bytes[] = [];
  let redirectTo = 0;
  for (let at = 3; at < words.length; at += 1) {
    const option = upperCase(words[at] as Bytes);
    const operand = words[at + 1];
    if (option === "REDIRECT" && operand !== undefined) {
      if (redirectTo !== 0) throw redirectTwice;
      const id = parseInteger(operand);
      if (id === undefined) throw notInteger;
      redirectTo = Number(id);
      if (database.sessions.find(redirectTo) === undefined) throw redirectMissing;
      at += 1;
    } else if (option === "PREFIX" && operand !== undefined) {
      prefixes.push(operand);
      at += 1;
    } else if (FLAGS.has(option)) named.add(option);
    else throw syntaxError;
  }
  const options = {
    isBroadcast: named.has("BCAST"),
    isOptIn: named.has("OPTIN"),
    isOptOut: named.has("OPTOUT"),
    isNoLoop: named.has("NOLOOP"),
    redirectTo,
  };
  return { options, prefixes };
}

const FLAGS: ReadonlySet<string> = new Set(["BCAST", "OPTIN", "OPTOUT", "NOLOOP"]);

/** `known`: the options so far, if tracking is on. @throws {CommandError} if the new ones are contradictory. */
function checkOptions(known: TrackingOptions | undefined, options: TrackingOptions, prefixes: readonly Bytes[]): void {
  const { isBroadcast, isOptIn, isOptOut } = options;
  if (!isBroadcast && prefixes.length > 0) throw prefixWithoutBroadcast;
  if (known !== undefined && known.isBroadcast !== isBroadcast) throw broadcastSwitched;
  if (isBroadcast && (isOptIn || isOptOut)) throw broadcastWithOptIn;
  if (isOptIn && isOptOut) throw optInAndOptOut;
  if ((isOptIn && known?.isOptOut === true) || (isOptOut && known?.isOptIn === true)) throw optInSwitched;
}

function caching({ tracker }: Session, words: readonly Bytes[]): Reply {
  if (tracker === undefined) throw cachingWithoutTracking;
  switch (upperCase(words[2] as Bytes)) {
    case "YES":
      if (!tracker.options.isOptIn) throw cachingYesWithoutOptIn;
      break;
    case "NO":
      if (!tracker.options.isOptOut) throw cachingNoWithoutOptOut;
      break;
    default:
      throw syntaxError;
  }
  tracker.isCachingGiven = true;
  return ok;
}

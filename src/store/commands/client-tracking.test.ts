/** The words of CLIENT TRACKING, CACHING, TRACKINGINFO and GETREDIR. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startSessions, type Turn } from "../../../test/harness/session-harness.ts";
import { error, ok } from "../../../test/harness/store-harness.ts";
import { map, type Reply, set } from "../reply/reply.ts";

const syntaxError = error("ERR syntax error");

function info(flags: readonly string[], redirect: number, prefixes: readonly string[] = []): Reply {
  return map([
    ["flags", set([...flags])],
    ["redirect", redirect],
    ["prefixes", [...prefixes]],
  ]);
}

const rows: readonly (readonly [what: string, turns: readonly Turn[]])[] = [
  [
    "tracking is off at first, and can be turned off again",
    [
      ["CLIENT TRACKINGINFO", info(["off"], -1)],
      ["CLIENT GETREDIR", -1],
      ["CLIENT TRACKING OFF", ok],
      ["CLIENT TRACKING ON NOLOOP", ok],
      ["CLIENT TRACKINGINFO", info(["on", "noloop"], 0)],
      ["CLIENT GETREDIR", 0],
      ["CLIENT TRACKING off", ok],
      ["CLIENT TRACKINGINFO", info(["off"], -1)],
    ],
  ],
  [
    "a later ON replaces the options and adds prefixes",
    [
      ["CLIENT TRACKING ON BCAST NOLOOP PREFIX b", ok],
      ["client tracking on bcast prefix a", ok],
      ["CLIENT TRACKINGINFO", info(["on", "bcast"], 0, ["a", "b"])],
      ["CLIENT TRACKING OFF", ok],
      ["CLIENT TRACKING ON BCAST", ok],
      ["CLIENT TRACKINGINFO", info(["on", "bcast"], 0, [""])],
    ],
  ],
  [
    "words that are not options are refused",
    [
      ["CLIENT TRACKING what", syntaxError],
      ["CLIENT TRACKING ON what", syntaxError],
      ["CLIENT TRACKING ON BCAST PREFIX", syntaxError],
      ["CLIENT TRACKING ON REDIRECT", syntaxError],
      ["CLIENT TRACKING ON REDIRECT x", error("ERR value is not an integer or out of range")],
      ["CLIENT TRACKING ON REDIRECT 0", error("ERR The client ID you want redirect to does not exist")],
      ["CLIENT TRACKING OFF REDIRECT 99", error("ERR The client ID you want redirect to does not exist")],
      ["CLIENT TRACKING ON REDIRECT 1 REDIRECT 1", error("ERR A client can only redirect to a single other client")],
      ["CLIENT TRACKING", error("ERR wrong number of arguments for 'client|tracking' command")],
      ["CLIENT TRACKINGINFO", info(["off"], -1)],
    ],
  ],
  [
    "contradictory options are refused",
    [
      ["CLIENT TRACKING ON PREFIX a", error("ERR PREFIX option requires BCAST mode to be enabled")],
      ["CLIENT TRACKING ON BCAST OPTIN", error("ERR OPTIN and OPTOUT are not compatible with BCAST")],
      ["CLIENT TRACKING ON OPTIN OPTOUT", error("ERR You can't specify both OPTIN mode and OPTOUT mode")],
      ["CLIENT TRACKING ON OPTIN", ok],
      [
        "CLIENT TRACKING ON OPTOUT",
        error(
          "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
        ),
      ],
      [
        "CLIENT TRACKING ON BCAST",
        error(
          "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
        ),
      ],
      ["CLIENT TRACKINGINFO", info(["on", "optin"], 0)],
    ],
  ],
  [
    "prefixes that overlap are refused, and none of them is added",
    [
      [
        "CLIENT TRACKING ON BCAST PREFIX foo PREFIX bar PREFIX barx",
        error(
          "ERR Prefix 'bar' overlaps with another provided prefix 'barx'. Prefixes for a single client must not overlap.",
        ),
      ],
      ["CLIENT TRACKINGINFO", info(["off"], -1)],
      ["CLIENT TRACKING ON BCAST PREFIX foo", ok],
      [
        "CLIENT TRACKING ON BCAST PREFIX x PREFIX fo",
        error("ERR Prefix 'fo' overlaps with an existing prefix 'foo'. Prefixes for a single client must not overlap."),
      ],
      ["CLIENT TRACKINGINFO", info(["on", "bcast"], 0, ["foo"])],
    ],
  ],
  [
    "CLIENT CACHING fits the mode",
    [
      [
        "CLIENT CACHING YES",
        error(
          "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        ),
      ],
      ["CLIENT TRACKING ON OPTIN", ok],
      ["CLIENT CACHING what", syntaxError],
      ["CLIENT CACHING NO", error("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")],
      ["CLIENT CACHING yes", ok],
      ["CLIENT TRACKINGINFO", info(["on", "optin", "caching-yes"], 0)],
      ["CLIENT TRACKING OFF", ok],
      ["CLIENT TRACKING ON OPTOUT", ok],
      ["CLIENT CACHING YES", error("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")],
      ["CLIENT CACHING NO", ok],
      ["CLIENT TRACKINGINFO", info(["on", "optout", "caching-no"], 0)],
    ],
  ],
];

for (const [what, turns] of rows)
  test(`CLIENT TRACKING: ${what}`, () => {
    startSessions().connect().expect(turns);
  });

test("RESET ends tracking", () => {
  const one = startSessions().connect();
  one.run("CLIENT TRACKING ON REDIRECT 1 OPTIN");
  one.run("RESET");
  one.listen();
  one.expect([["CLIENT TRACKINGINFO", info(["off"], -1)]]);
});

test("a read-only token may track keys, a user only with the right to the command", () => {
  const { connectStranger, store } = startSessions();
  const reader = connectStranger();
  reader.expect([
    ["AUTH default_ro main-readonly", ok],
    ["CLIENT TRACKING ON", ok],
  ]);
  const admin = connectStranger();
  admin.expect([
    ["AUTH main-token", ok],
    ["ACL SETUSER ann on nopass +@all -client|tracking ~*", ok],
  ]);
  const ann = store.database("main").users.find("ann");
  assert.ok(ann !== undefined);
  const { connect } = startSessions();
  const one = connect({ user: ann });
  one.expect([
    [
      "CLIENT TRACKING ON",
      error("NOPERM this user has no permissions to run the 'client|tracking' command or its subcommand"),
    ],
    ["CLIENT TRACKINGINFO", info(["off"], -1)],
  ]);
});

test("prefixes are bounded in length and in number", () => {
  const one = startSessions().connect();
  one.expect([
    [
      `CLIENT TRACKING ON BCAST PREFIX ${"x".repeat(513)}`,
      error("ERR A prefix of CLIENT TRACKING may have at most 512 bytes"),
    ],
    [`CLIENT TRACKING ON BCAST PREFIX ${"x".repeat(512)}`, ok],
    [
      `CLIENT TRACKING ON BCAST ${Array.from({ length: 1_000 }, (_, i) => `PREFIX p${i}.`).join(" ")}`,
      error("ERR The clients track too many prefixes: at most 1000 for each client"),
    ],
  ]);
});

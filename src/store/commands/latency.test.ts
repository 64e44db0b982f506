/** LATENCY: events above the threshold, and the distribution of run times. DEBUG SLEEP takes the requested time. */
import { test } from "node:test";
import { error, ok, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { map, verbatim } from "../reply/reply.ts";
import { RedisCompat } from "./redis-compat.ts";

/** Commands over TCP; DEBUG SLEEP advances the clock. */
function startSlow() {
  const clock = new VirtualClock(1_700_000_000_000);
  return startSession({ clock, compat: new RedisCompat((ms) => clock.advance(ms)) });
}

test("records no events until a threshold is set", () => {
  startSlow().expect([
    ["DEBUG SLEEP 3", ok],
    ["LATENCY LATEST", []],
    ["LATENCY HISTORY command", []],
    ["LATENCY GRAPH command", error("ERR No samples available for event 'command'")],
    [
      "LATENCY DOCTOR",
      verbatim("Latency monitoring is disabled. CONFIG SET latency-monitor-threshold <milliseconds> enables it.\n"),
    ],
    ["CONFIG SET latency-monitor-threshold 100", ok],
    ["LATENCY DOCTOR", verbatim("No event took longer than the threshold.\n")],
  ]);
});

test("an event has the longest sample of each second, and its longest one of all time", () => {
  startSlow().expect([
    ["CONFIG SET latency-monitor-threshold 100 slowlog-log-slower-than -1", ok],
    ["DEBUG SLEEP 0.099", ok],
    ["DEBUG SLEEP 0.1", ok],
    ["DEBUG SLEEP 0.3", ok],
    ["DEBUG SLEEP 0.2", ok],
    ["DEBUG SLEEP 2", ok],
    ["DEBUG SLEEP 0.15", ok],
    [
      "LATENCY HISTORY command",
      [
        [1_700_000_000, 2_000],
        [1_700_000_002, 150],
      ],
    ],
    ["LATENCY LATEST", [["command", 1_700_000_002, 150, 2_000]]],
    [
      "LATENCY GRAPH command",
      verbatim(
        `command - high 2000 ms, low 150 ms (all time high 2000 ms)\n   2s ${"#".repeat(50)} 2000 ms\n   0s #### 150 ms\n`,
      ),
    ],
    [
      "LATENCY DOCTOR",
      verbatim(
        "1. command: 2 latency spikes (average 1075ms, mean deviation 925ms, period 1.42 sec). Worst all time event 2000ms.\n\ncommand: SLOWLOG GET lists the slow commands. Split or limit those that read whole collections.\n",
      ),
    ],
    ["SLOWLOG LEN", 0],
    ["LATENCY RESET fast-command command command", 1],
    ["LATENCY LATEST", []],
    ["LATENCY RESET", 0],
  ]);
});

test("LATENCY HISTOGRAM counts runs by powers of two of microseconds", () => {
  const session = startSlow();
  session.expect([
    ["GET k", null],
    ["GET k", null],
    ["DEBUG SLEEP 0.001", ok],
    ["DEBUG SLEEP 0.001", ok],
    ["DEBUG SLEEP 0.1", ok],
    [
      "LATENCY HISTOGRAM GET debug nope ttl",
      map([
        [
          "get",
          map([
            ["calls", 2],
            ["histogram_usec", map([[1, 2]])],
          ]),
        ],
        [
          "debug|sleep",
          map([
            ["calls", 3],
            [
              "histogram_usec",
              map([
                [1_024, 2],
                [131_072, 3],
              ]),
            ],
          ]),
        ],
      ]),
    ],
    ["LATENCY HISTOGRAM nope", map([])],
    ["LATENCY HELP x", error("ERR wrong number of arguments for 'latency|help' command")],
    ["LATENCY what", error("ERR unknown subcommand 'what'. Try LATENCY HELP.")],
  ]);
});

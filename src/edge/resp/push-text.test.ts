import assert from "node:assert/strict";
import { test } from "node:test";
import type { Push } from "../../store/mod.ts";
import { pushText } from "./push-text.ts";

const rows: readonly (readonly [push: Push, resp2: string, resp3: string])[] = [
  [
    { kind: "message", channel: "c", payload: "a\r\n\xff" },
    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\na\r\n\xff\r\n",
    ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\na\r\n\xff\r\n",
  ],
  [
    { kind: "pmessage", pattern: "c*", channel: "c1", payload: "" },
    "*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nc1\r\n$0\r\n\r\n",
    ">4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nc1\r\n$0\r\n\r\n",
  ],
  [
    { kind: "smessage", channel: "c", payload: "p" },
    "*3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$1\r\np\r\n",
    ">3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$1\r\np\r\n",
  ],
  [
    { kind: "invalidate", keys: ["a", "\xff\r\n"] },
    "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*2\r\n$1\r\na\r\n$3\r\n\xff\r\n\r\n",
    ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$3\r\n\xff\r\n\r\n",
  ],
  [
    { kind: "invalidate", keys: null },
    "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n$-1\r\n",
    ">2\r\n$10\r\ninvalidate\r\n_\r\n",
  ],
  [
    { kind: "tracking-redir-broken", clientId: 12 },
    "*2\r\n$21\r\ntracking-redir-broken\r\n:12\r\n",
    ">2\r\n$21\r\ntracking-redir-broken\r\n:12\r\n",
  ],
  [
    { kind: "monitor", line: '1.000000 [0 a:1] "PING"' },
    '+1.000000 [0 a:1] "PING"\r\n',
    '+1.000000 [0 a:1] "PING"\r\n',
  ],
];

test("pushes are arrays in RESP2 and pushes in RESP3, monitor lines are simple strings in both", () => {
  for (const [push, resp2, resp3] of rows) {
    assert.equal(pushText(push, 2), resp2);
    assert.equal(pushText(push, 3), resp3);
    assert.equal(pushText(push, 2), resp2);
  }
});

/** Requests that readers of HTTP have been known to frame differently (threat S-02), over sockets and with both readers. */
import assert from "node:assert/strict";
import { notThroughFront } from "../harness/cluster/front-exceptions.ts";
import { reply, start, testEach } from "../harness/listener-bench.ts";
import { NEXT, type SmugglingCase, smugglingCases } from "../harness/smuggling-cases.ts";

const techniques = [...new Set(smugglingCases.map(({ technique }) => technique))];

for (const technique of techniques) {
  testEach(
    `S-02: ${technique}: every case is framed as expected, and the next request is separate`,
    async (context) => {
      if (context.transport === "node" && notThroughFront("bytes after a request that closes") !== false) return;
      const cases = smugglingCases.filter(
        (each) => each.technique === technique && (context.transport === "larder" || each.node?.length !== 0),
      );
      const bench = await start(
        context,
        ({ method, target, body }) => reply(`${method} ${target} ${body.latin1Slice()}`),
        {
          limits: { refusedMs: 50, refusedBytesMax: 100_000 },
        },
      );
      const found = await Promise.all(
        cases.map(async (each) => {
          const received = await bench
            .open()
            .send(each.bytes + NEXT)
            .untilClosed();
          const answers = answersOf(received);
          const isPart = context.transport === "node" && each.node !== undefined;
          return [each.name, isPart ? answers.slice(0, each.node.length) : answers];
        }),
      );
      assert.deepEqual(
        found,
        cases.map((each) => [each.name, expectedOf(each, context.transport)]),
      );
    },
  );
}

function expectedOf({ answers, node }: SmugglingCase, transport: string): readonly string[] {
  return transport === "node" ? (node ?? answers) : answers;
}

/** The echo of each answer with status 200, and the status of each other one. */
function answersOf(received: string): string[] {
  const answers: string[] = [];
  let rest = received;
  while (rest !== "") {
    const head = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n(?:[^\r]*\r\n)*?\r\n/.exec(rest);
    if (head === null) return [...answers, `not an answer: ${rest}`];
    const bodyBytes = Number(/\r\nContent-Length: (\d+)/i.exec(head[0])?.[1] ?? 0);
    const end = head[0].length + bodyBytes;
    answers.push(head[1] === "200" ? rest.slice(head[0].length, end) : (head[1] as string));
    rest = rest.slice(end);
  }
  return answers;
}

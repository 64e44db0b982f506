/** The comparison itself, against a second engine of ours that answers as Redis does, except for a planted fault. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "./engine.ts";
import { hashFamily } from "./families/hash.ts";
import { stringFamily } from "./families/string.ts";
import type { Command } from "./programs.ts";
import type { RawReply, RedisProcess } from "./redis-process.ts";
import { runFamily } from "./run.ts";

const NOW_MS = 1_767_225_600_000;

/** A server whose replies are ours, changed by `fault`. */
function serverWith(fault: (command: Command, reply: RawReply) => RawReply): RedisProcess {
  const engine = new Engine(NOW_MS);
  const answer = (command: Command): RawReply => fault(command, engine.run(command));
  const pipeline = async (commands: readonly Command[]): Promise<RawReply[]> => {
    const replies: RawReply[] = [];
    for (let at = 0; at < commands.length; at += 1) {
      const command = commands[at] as Command;
      if (command[0] !== "MULTI") {
        replies.push(answer(command));
        continue;
      }
      const end = commands.findIndex((other, index) => index > at && other[0] === "EXEC");
      replies.push(...answerTransaction(engine, commands.slice(at + 1, end), fault));
      at = end;
    }
    return replies;
  };
  return {
    port: 0,
    call: async (command) => answer(command),
    pipeline,
    connect: async () => ({ send: pipeline, close: () => {} }),
    listen: async () => {},
    stop: async () => {},
  };
}

function answerTransaction(
  engine: Engine,
  commands: readonly Command[],
  fault: (command: Command, reply: RawReply) => RawReply,
): RawReply[] {
  const outcome = engine.transaction(commands);
  if ("refusal" in outcome) {
    const refused: RawReply = { kind: "error", error: { text: outcome.refusal } };
    return [null, ...commands.map(() => refused), refused];
  }
  const replies = outcome.replies.map((reply, index) => fault(commands[index] as Command, reply));
  return [null, ...commands.map((): RawReply => ({ kind: "simple", text: "QUEUED" })), replies];
}

test("a server that answers as we do agrees", async () => {
  for (const family of [stringFamily, hashFamily]) {
    const redis = serverWith((_, reply) => reply);
    const coverage = await runFamily({ family, seed: 1, limit: { count: 2_000 }, redis });
    assert.ok(coverage.commandCount >= 2_000);
    assert.deepEqual([...coverage.neverWell], []);
  }
});

test("a wrong reply is found and shown in the shortest program", async () => {
  const redis = serverWith((command, reply) =>
    command[0] === "STRLEN" && typeof reply === "number" && reply > 40 ? reply + 1 : reply,
  );
  await assert.rejects(
    runFamily({ family: stringFamily, seed: 1, limit: { count: 20_000 }, redis }),
    (error: Error) => {
      const lines = error.message.split("\n");
      const program = lines.slice(lines.indexOf("after") + 1, -1);
      assert.match(error.message, /^string: SEED=\d+: reply of STRLEN /);
      assert.match(lines.at(-1) ?? "", /^Again: LARDER_DIFFERENTIAL_SEED=\d+ npm run t -- differential$/);
      assert.equal(program.length, 2, error.message);
      assert.match(program[1] ?? "", /^ {2}STRLEN /);
      return true;
    },
  );
});

test("another error text is found, also in a transaction", async () => {
  const redis = serverWith((_, reply) =>
    typeof reply === "object" && reply !== null && "error" in reply && reply.error.text.startsWith("WRONGTYPE")
      ? { kind: "error", error: { text: "WRONGTYPE" } }
      : reply,
  );
  await assert.rejects(
    runFamily({ family: stringFamily, seed: 1, limit: { count: 20_000 }, redis }),
    /redis: \(error\) WRONGTYPE$/m,
  );
});

test("another state is found although every reply agrees", async () => {
  const redis = serverWith((command, reply) => (command[0] === "PEXPIRETIME" && reply !== -1 ? -1 : reply));
  await assert.rejects(
    runFamily({ family: stringFamily, seed: 1, limit: { count: 20_000 }, redis }),
    /state of PEXPIRETIME .*\n {2}ours: {2}\(integer\) \d+\n {2}redis: \(integer\) -1\nafter\n.*\nAgain: /,
  );
});

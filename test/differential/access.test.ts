/**
 * Random rules of users compared with a real redis-server 7.0.15: both accept them or
 * refuse them with the same text, describe the user equally, and let it run the
 * same commands on the same keys. Descriptions of command rules are compared by
 * their effect: Redis 7.0 reconstructs rules from its stored bits.
 *
 * Run again: LARDER_DIFFERENTIAL_SEED=<seed> npm run t -- test/differential/access.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { aclCategories } from "../../src/store/command-facts.ts";
import { findKeys } from "../../src/store/commands/command-keys.ts";
import { commands, findCommand } from "../../src/store/commands/table.ts";
import type { Reply } from "../../src/store/reply/reply.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { joinLine, startSession } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { Draw } from "./draw.ts";
import { drawRules, namesOfRules, type Vocabulary } from "./drawn-rules.ts";
import { families } from "./families.ts";
import type { Command } from "./programs.ts";
import type { RawReply, RedisProcess } from "./redis-process.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");

/** Changes of one user, and commands checked for it after each. */
const CHANGES = 6;
const QUESTIONS = 12;

const generators = families.filter(({ name }) => name !== "scripting").flatMap((family) => family.commands);
/** Commands on channels, on scripts and on the server, whose arguments the families do not draw. */
const others: readonly ((draw: Draw) => Command)[] = [
  (draw) => ["PUBLISH", draw.pick(["news", "other", "news.a"]), "m"],
  (draw) => ["SUBSCRIBE", draw.pick(["news", "other"]), draw.pick(["news", "news.a"])],
  (draw) => ["PSUBSCRIBE", draw.pick(["news.*", "n*", "*", "news"])],
  (draw) => ["SPUBLISH", draw.pick(["news", "other", "news.a"]), "m"],
  (draw) => ["SSUBSCRIBE", draw.pick(["news", "other"]), draw.pick(["news", "news.a"])],
  (draw) => ["UNSUBSCRIBE", draw.pick(["news", "other"])],
  (draw) => ["EVAL", "return 1", "2", draw.key(), draw.key(), draw.key()],
  (draw) => ["EVAL_RO", "return 1", "1", draw.key()],
  (draw) => ["FCALL", "f", draw.pick(["0", "1", "2"]), draw.key()],
  (draw) => ["CONFIG", draw.pick(["GET", "SET", "RESETSTAT"]), ...draw.keys()],
  (draw) => ["ACL", draw.pick(["WHOAMI", "LIST", "CAT", "GETUSER"]), ...draw.keys()],
  (draw) => ["CLIENT", draw.pick(["ID", "LIST", "GETNAME"])],
  (draw) => ["SELECT", draw.pick(["0", "1"])],
  () => ["PING"],
  () => ["MULTI"],
  () => ["MONITOR"],
  (draw) => ["WATCH", draw.key(), draw.key()],
  (draw) => ["BLPOP", draw.key(), draw.key(), "0"],
  (draw) => ["BLMOVE", draw.key(), draw.key(), "LEFT", "LEFT", "0"],
];

function drawQuestion(draw: Draw): Command {
  return draw.oneIn(4) ? draw.pick(others)(draw) : draw.damage([...draw.pick(generators)(draw)]);
}

const ODD_COUNT = /^(?:[ +]\d+|\d+ |0\d+|\d+\0|\d+\.\d*|\d+e\d+|0x\d+)$/;
/** Commands with a count of keys as an argument. */
const COUNTED = /^(?:z(?:union|inter|diff)(?:store|card)?|sintercard|b?[lz]mpop|eval(?:sha)?(?:_ro)?|fcall(?:_ro)?)$/i;

/** Their fourth word is WITHSCORE since Redis 7.2. */
const OF_MORE_WORDS = /^z(?:rev)?rank$/i;

/**
 * Commands for which Redis checks other keys than the ones it uses, found here: several STORE, of which the
 * last wins; option values that look like STREAMS or STORE; PFMERGE of one key, and any count of keys
 * that the command will refuse, where Redis checks no key. And commands that newer versions take with more words.
 */
function isTellingWrong(words: Command): boolean {
  const count = (word: RegExp): number => words.filter((one) => word.test(one)).length;
  if (/^pfmerge$/i.test(words[0] ?? "")) return words.length === 2;
  if (OF_MORE_WORDS.test(words[0] ?? "") && words.length > 3) return true;
  const command = findCommand(words[0] ?? "");
  if (command !== undefined && findKeys(command, words).isMalformed) return true;
  // The command will refuse such a count, or Redis finds keys differently because of it.
  if (COUNTED.test(words[0] ?? "") && words.some((word) => ODD_COUNT.test(word))) return true;
  // The command will refuse STORE for a count, whereas Redis takes it for the option.
  const isCount = words.some((one, at) => /^store(?:dist)?$/i.test(one) && /^count$/i.test(words[at - 1] ?? ""));
  return isCount || count(/^store(?:dist)?$/i) > 1 || count(/^streams$/i) > 1;
}

interface Change {
  readonly rules: Command;
  readonly questions: readonly Command[];
}

function drawChanges(programSeed: number, vocabulary: Vocabulary): readonly Change[] {
  const draw = new Draw(programSeed);
  return Array.from({ length: CHANGES }, () => ({
    rules: drawRules(draw, vocabulary),
    questions: Array.from({ length: QUESTIONS }, () => drawQuestion(draw)).filter((words) => !isTellingWrong(words)),
  }));
}

/** Names known to both: Redis confirms them, and ours are not only for its tests. */
async function sharedVocabulary(redis: RedisProcess): Promise<Vocabulary> {
  const names = namesOfRules(commands.filter(({ isCompatOnly }) => !isCompatOnly));
  const known = await redis.pipeline(names.map((name) => ["COMMAND", "INFO", name]));
  return {
    commands: names.filter((_, index) => Array.isArray(known[index]) && Array.isArray((known[index] as RawReply[])[0])),
    categories: aclCategories.filter((category) => category !== "json" && category !== "search"),
  };
}

test("random rules are of every kind", () => {
  const draw = new Draw(1);
  const vocabulary = { commands: namesOfRules(commands), categories: aclCategories };
  const drawn = Array.from({ length: 2_000 }, () => drawRules(draw, vocabulary)).flat();
  for (const start of ["+", "-", "+@", "-@", "~", "%R~", "%W~", "&", ">", "<", "#", "!", "(", "on", "reset", "all"])
    assert.ok(
      drawn.some((rule) => rule.startsWith(start)),
      start,
    );
});

besideRedis((redis) => {
  test("creates, lists and restricts users as Redis does", async (context) => {
    const vocabulary = await sharedVocabulary(redis());
    const known = new Set(vocabulary.commands.map((name) => name.split("|")[0]));
    const limit = allowanceOf("access");
    const startMs = systemClock.monotonicMs();
    let count = 0;
    const isDone = (): boolean =>
      "count" in limit ? count >= limit.count : systemClock.monotonicMs() - startMs >= limit.budgetMs;
    for (; !isDone(); count += 1) {
      const changes = drawChanges(seed + count, vocabulary);
      await compare(redis(), { changes, known, programSeed: seed + count });
    }
    context.diagnostic(`access: SEED=${seed}: ${count} users`);
  });
});

async function compare(
  redis: RedisProcess,
  program: { changes: readonly Change[]; known: ReadonlySet<string | undefined>; programSeed: number },
): Promise<void> {
  const { changes, known, programSeed } = program;
  const session = startSession();
  const lines: Command[] = [["ACL", "DELUSER", "u"]];
  for (const { rules, questions } of changes) {
    lines.push(["ACL", "SETUSER", "u", ...rules], ["ACL", "GETUSER", "u"], ["ACL", "LIST"]);
    for (const words of questions) if (known.has(words[0]?.toLowerCase())) lines.push(["ACL", "DRYRUN", "u", ...words]);
  }
  const theirs = await redis.pipeline(lines);
  for (const [index, line] of lines.entries()) {
    const ours = session.call(...line);
    if (index === 0) continue;
    assert.deepEqual(
      comparable(flat(ours), line),
      comparable(theirs[index] as RawReply, line),
      `seed ${programSeed}:\n${lines
        .slice(0, index + 1)
        .filter(([, name], at) => name === "SETUSER" || at === index)
        .map(joinLine)
        .join("\n")}`,
    );
  }
}

/** Our reply in RESP2. */
function flat(reply: Reply): RawReply {
  if (Array.isArray(reply)) return reply.map(flat);
  if (typeof reply !== "object" || reply === null || !("kind" in reply)) return reply as RawReply;
  switch (reply.kind) {
    case "map":
      return reply.pairs.flat().map(flat);
    case "set":
      return reply.members.map(flat);
    case "error":
    case "simple":
      return reply;
    default:
      return assert.fail(`ACL does not answer ${reply.kind}`);
  }
}

/** Without the rules on commands, and texts of simple strings as strings. */
function comparable(reply: RawReply, [, name, , ...words]: Command): unknown {
  if (name === "LIST" && Array.isArray(reply))
    return reply
      .filter((line) => String(line).startsWith("user u "))
      .map((line) =>
        String(line)
          .replace(/(?<=[ (])[+-][^ )]*/g, "")
          .replace(/ +/g, " "),
      );
  if (name === "GETUSER" && Array.isArray(reply)) return withoutCommands(reply);
  if (typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "error") return reply.error.text;
  // If a count is spelled oddly, Redis finds keys differently and in another order: the first one named differs.
  if (name === "DRYRUN" && typeof reply === "string" && words.some((word) => ODD_COUNT.test(word)))
    return reply.replace(/'.*(?=' key$)/s, "'");
  // Redis prints a key up to its first zero byte.
  if (typeof reply === "string") return reply.replace(/\0.*(?=' (?:key|channel)$)/s, "");
  return reply;
}

function withoutCommands(reply: readonly RawReply[]): unknown {
  return reply.flatMap((item, index) => {
    const field = reply[index - 1];
    if (index % 2 === 0) return [item];
    if (field === "commands") return [];
    if (field === "selectors" && Array.isArray(item)) return [item.map((one) => withoutCommands(one as RawReply[]))];
    return [Array.isArray(item) ? item.map(textOf) : item];
  });
}

function textOf(item: RawReply): unknown {
  return typeof item === "object" && item !== null && "kind" in item && item.kind === "simple" ? item.text : item;
}

/** OBJECT: how a value is kept. Looking at a key this way does not count as using it. */
import { type Call, noKeys, type Row, secondKey } from "../command.ts";
import { frequencyNotTracked, idleTimeNotTracked } from "../errors.ts";
import { integer, nil, one, type Reply } from "../reply/reply.ts";
import { typeOf, type Value } from "../values/table.ts";
import { looked } from "./command-keys.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "ENCODING <key>",
  "    The encoding that Redis would keep the value of the key in.",
  "FREQ <key>",
  "    How often the key is used. Kept while a policy is selected that evicts by it.",
  "IDLETIME <key>",
  "    Seconds since the key was last used. Not kept while it is counted how often.",
  "REFCOUNT <key>",
  "    References to the value of the key: always 1.",
];

export const objectRow: Row = {
  name: "OBJECT",
  summary: "Commands that tell how a value is kept",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "ENCODING",
      summary: "The encoding that Redis would keep the value in",
      arity: 3,
      flags: ["readonly", "powerful"],
      keys: secondKey,
      keyUses: [looked],
      run: (call) => report(call, (value) => typeOf(value).encoding(value)),
    },
    {
      name: "FREQ",
      summary: "How often a key is used, from 0 to 255, where the policy counts that",
      arity: 3,
      flags: ["readonly", "powerful"],
      keys: secondKey,
      keyUses: [looked],
      run: (call) =>
        report(call, () => {
          if (!call.keyspace.countsUses) throw frequencyNotTracked;
          return integer(call.keyspace.frequencyOf(call.arg(2)));
        }),
    },
    helpRow(helpLines),
    {
      name: "IDLETIME",
      summary: "Seconds since a key was last used, unless the policy counts uses",
      arity: 3,
      flags: ["readonly", "powerful"],
      keys: secondKey,
      keyUses: [looked],
      run: (call) =>
        report(call, () => {
          if (call.keyspace.countsUses) throw idleTimeNotTracked;
          return integer(call.keyspace.idleSecondsOf(call.arg(2)));
        }),
    },
    {
      name: "REFCOUNT",
      summary: "References to a value: always one",
      arity: 3,
      flags: ["readonly", "powerful"],
      keys: secondKey,
      keyUses: [looked],
      run: (call) => report(call, () => one),
    },
  ],
  run: () => nil,
};

function report({ keyspace, arg }: Call, answer: (value: Value) => Reply): Reply {
  const value = keyspace.peek(arg(2));
  return value === undefined ? nil : answer(value);
}

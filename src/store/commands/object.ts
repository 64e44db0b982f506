/** OBJECT: how a value is stored. It does not count as a use of the key. */
import { type Call, noKeys, type Row, secondKey } from "../command.ts";
import { frequencyNotTracked, idleTimeNotTracked } from "../errors.ts";
import { integer, nil, one, type Reply } from "../reply/reply.ts";
import { typeOf, type Value } from "../values/table.ts";
import { looked } from "./command-keys.ts";
import { helpRow } from "./help.ts";

const helpLines: readonly string[] = [
  "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  "ENCODING <key>",
  "    Return the encoding in which Redis would store the value of the key.",
  "FREQ <key>",
  "    Return the access frequency of the key. Counted while an LFU policy is selected.",
  "IDLETIME <key>",
  "    Return the seconds since the key was last used. Not available while an LFU policy is selected.",
  "REFCOUNT <key>",
  "    Return the number of references to the value of the key: always 1.",
];

export const objectRow: Row = {
  name: "OBJECT",
  summary: "Commands for the storage of a value",
  arity: -2,
  flags: [],
  categories: [],
  keys: noKeys,
  subcommands: [
    {
      name: "ENCODING",
      summary: "Returns the encoding in which Redis would store the value",
      arity: 3,
      flags: ["readonly", "powerful"],
      keys: secondKey,
      keyUses: [looked],
      run: (call) => report(call, (value) => typeOf(value).encoding(value)),
    },
    {
      name: "FREQ",
      summary: "Returns the access frequency of a key, from 0 to 255, with an LFU policy",
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
      summary: "Returns the seconds since a key was last used, unless the policy is LFU",
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
      summary: "Returns the number of references to a value: always 1",
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

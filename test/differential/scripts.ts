/**
 * Programs written by hand: cases that random commands seldom meet, sent to
 * both servers line by line. No replies are written here; Redis gives them.
 */

export interface Script {
  /** What it is about. */
  readonly name: string;
  readonly lines: readonly string[];
}

export const scripts: readonly Script[] = [
  {
    name: "counters at the ends of 64 bits",
    lines: [
      "SET k 9223372036854775806",
      "INCR k",
      "INCR k",
      "DECRBY k -1",
      "INCRBY k -9223372036854775808",
      "INCRBY k 9223372036854775807",
      "DECRBY k -9223372036854775808",
      "DECRBY none -9223372036854775808",
      "SET k -9223372036854775808",
      "DECR k",
      "DECRBY k 9223372036854775807",
      "INCRBY k 9223372036854775807",
      "SET k 9007199254740991",
      "INCR k",
      "INCR k",
      "INCRBY k -1",
      "DECRBY k 0",
    ],
  },
  {
    name: "what counts as an integer and as a float",
    lines: [
      ...["1", " 1", "1 ", "+1", "01", "-0", "-", "1.0", "1e3", "0x10", "", "1\\x00", "9223372036854775808"].flatMap(
        (text) => [
          `SET k "${text}"`,
          "INCR k",
          `INCRBY n "${text}"`,
          `INCRBYFLOAT k "${text}"`,
          `SETRANGE s "${text}" x`,
          `GETRANGE s 0 "${text}"`,
          `SET e v EX "${text}"`,
          "DEL e",
        ],
      ),
      ...[
        "inf",
        "-inf",
        "nan",
        "infinity",
        "1e308",
        "1e4000",
        "1e5000",
        "1e-4000",
        "1e-5000",
        "0x1p-3",
        "1e",
        ".",
      ].flatMap((text) => [`SET k 1`, `INCRBYFLOAT k ${text}`, `SET k ${text}`, "INCRBYFLOAT k 1", "GET k"]),
    ],
  },
  {
    name: "sums of 80 bits",
    lines: [
      ...["0.1", "0.2", "-0.3", "3.14159265358979323846", "1e17", "1e-17", "9007199254740993", "-1e17", "0.5"].map(
        (text) => `INCRBYFLOAT k ${text}`,
      ),
      "SET k 18446744073709551616",
      "INCRBYFLOAT k 1",
      "SET k 0.00000000000000000499999",
      "INCRBYFLOAT k 0",
      "SET k -0.00000000000000000001",
      "INCRBYFLOAT k 0",
    ],
  },
  {
    name: "the words of SET in every order",
    lines: [
      "NX",
      "XX",
      "GET",
      "KEEPTTL",
      "EX 100",
      "PX 100000",
      "EXAT 2000000000",
      "PXAT 2000000000000",
      "PERSIST",
    ].flatMap((one, _, all) => all.flatMap((other) => [`SET k v ${one} ${other}`, `GETEX k ${one} ${other}`, "DEL k"])),
  },
  {
    name: "expiry times at their ends",
    lines: [
      ...["1", "0", "-1", "9223372036854775", "9223372036854776", "9223372036854775807", "9223372036854775808"].flatMap(
        (time) => [
          `SETEX a ${time === "1" ? "1000" : time} v`,
          `PSETEX b ${time === "1" ? "100000" : time} v`,
          `SET c v EXAT ${time}`,
          `SET d v PXAT ${time}`,
          "SET e v",
          `GETEX e EXAT ${time}`,
          "SET f v",
          `GETEX f PXAT ${time}`,
          `GETEX none EXAT ${time}`,
        ],
      ),
    ],
  },
  {
    name: "an expired key is absent for every command",
    lines: [
      "GET k",
      "STRLEN k",
      "APPEND k v",
      "SETRANGE k 1 v",
      "GETRANGE k 0 -1",
      "INCR k",
      "INCRBYFLOAT k 1",
      "GETDEL k",
      "GETSET k v",
      "GETEX k PERSIST",
      "SETNX k v",
      "MSETNX k v",
      "MGET k k",
      "SET k v KEEPTTL",
      "SET k v XX",
      "SET k v NX",
      "SET k v GET",
      "LCS k k LEN",
      "RENAME k l",
      "COPY k l",
      "EXISTS k k",
      "DEL k",
      "TYPE k",
    ].flatMap((line) => ["SET k 5 PXAT 1", line, "DEL k l"]),
  },
  {
    name: "which error comes first",
    lines: [
      "HSET h f v",
      "SET h v EX 0 GET",
      "SET h v GET EX x",
      "SET h v GET what",
      "SETRANGE h -1 v",
      "SETRANGE h x v",
      'SETRANGE h 0 ""',
      "GETRANGE h x 0",
      "INCRBY h x",
      "DECRBY h -9223372036854775808",
      "INCRBYFLOAT h x",
      "GETEX h EX 0",
      "GETEX h what",
      "APPEND h v",
      "LCS h h what",
      "LCS a h LEN IDX",
      "LCS a b LEN IDX what",
      "LCS a b MINMATCHLEN x what",
      "MSETNX h v x",
      "SETEX h 0 v",
      "SETEX h x v",
    ],
  },
  {
    name: "parts of a string",
    lines: [
      "SET k Hello",
      ...["0", "1", "4", "5", "-1", "-5", "-6", "100", "-100", "9223372036854775807", "-9223372036854775808"].flatMap(
        (start, _, all) => all.map((end) => `GETRANGE k ${start} ${end}`),
      ),
      "SETRANGE k 5 !",
      'SETRANGE k 99 ""',
      "SETRANGE k 10 x",
      "SETRANGE k 536870911 xy",
      "SETRANGE k 536870912 x",
      "SETRANGE none 536870912 x",
      'SETRANGE none 536870912 ""',
      "GET k",
    ],
  },
];

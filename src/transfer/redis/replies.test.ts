/** Replies in pieces, and invalid replies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printCommands, printedBytes, ReplyError, ReplyReader, type RespReply, WrongReply } from "./replies.ts";

const rows: readonly (readonly [text: string, reply: RespReply])[] = [
  ["+OK\r\n", "OK"],
  [":-12\r\n", -12],
  [":12345678901234567\r\n", 12345678901234568],
  ["$-1\r\n", null],
  ["*-1\r\n", null],
  ["$0\r\n\r\n", ""],
  ["$4\r\n\r\n\xff\x00\r\n", "\r\n\xff\x00"],
  ["-ERR no\r\n", new ReplyError("ERR no")],
  ["*3\r\n:1\r\n*2\r\n$1\r\na\r\n+b\r\n$-1\r\n", [1, ["a", "b"], null]],
  ["*0\r\n", []],
];

test("reads replies in pieces of any size", () => {
  const text = rows.map(([each]) => each).join("");
  for (const pieceLength of [1, 2, 3, 7, text.length]) {
    const reader = new ReplyReader();
    const replies: RespReply[] = [];
    for (let at = 0; at < text.length; at += pieceLength) {
      reader.feed(Buffer.from(text.slice(at, at + pieceLength), "latin1"));
      for (let reply = reader.next(); reply !== undefined; reply = reader.next()) replies.push(reply);
    }
    assert.deepEqual(
      replies,
      rows.map(([, reply]) => reply),
      `in pieces of ${pieceLength}`,
    );
  }
});

test("rejects replies that are not RESP or that would take too much memory", () => {
  const wrong = [
    "HTTP/1.1 400 Bad\r\n",
    "$x\r\n",
    "$536870913\r\n",
    "*16777217\r\n",
    ":1.5\r\n",
    ":\r\n",
    ":-\r\n",
    "$1 \r\n",
    ":123456789012345678901\r\n",
    "*1\r\n".repeat(40),
  ];
  for (const text of wrong) {
    const reader = new ReplyReader();
    reader.feed(Buffer.from(text));
    assert.throws(() => reader.next(), WrongReply, JSON.stringify(text));
  }
  const endless = new ReplyReader();
  endless.feed(Buffer.alloc(70_000, "+"));
  assert.throws(() => endless.next(), WrongReply);
});

test("prints commands in their wire form, with the computed length", () => {
  const words = ["SET", "k", "\xff".repeat(10)];
  const printed = printCommands([words, ["PING"]]);
  assert.equal(
    printed.latin1Slice(),
    `*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n${"\xff".repeat(10)}\r\n*1\r\n$4\r\nPING\r\n`,
  );
  assert.equal(printedBytes(words) + printedBytes(["PING"]), printed.length);
});

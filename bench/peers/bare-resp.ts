/**
 * The least that a RESP server in JavaScript can do: it cuts the words of the
 * requests in a packet, stores the strings of SET in a `Map`, looks those of GET up,
 * and sends the replies of a packet in one write. It checks nothing, knows no other
 * command, keeps no journal and counts nothing, so it is a bound and no server.
 *
 * node bench/peers/bare-resp.ts
 */
import { createServer } from "node:net";

const ZERO = 0x30;
const CARRIAGE_RETURN = 0x0d;

const values = new Map<string, string>();

/** The offset after the number or word that was read last. */
let next = 0;

/** The number after `*` or `$` at `start`. */
function readCount(bytes: Buffer, start: number): number {
  let count = 0;
  let at = start + 1;
  for (; at < bytes.length && bytes[at] !== CARRIAGE_RETURN; at += 1) count = count * 10 + (bytes[at] as number) - ZERO;
  next = at + 2;
  return count;
}

function readWord(bytes: Buffer, start: number): string {
  const length = readCount(bytes, start);
  const wordStart = next;
  next = wordStart + length + 2;
  return bytes.latin1Slice(wordStart, wordStart + length);
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let replies = "";
    let at = 0;
    while (at < bytes.length) {
      const count = readCount(bytes, at);
      const name = readWord(bytes, next);
      const key = count > 1 ? readWord(bytes, next) : "";
      let value = "";
      for (let index = 2; index < count; index += 1) value = readWord(bytes, next);
      if (next > bytes.length) break;
      at = next;
      if (name === "GET") {
        const found = values.get(key);
        replies += found === undefined ? "$-1\r\n" : `$${found.length}\r\n${found}\r\n`;
      } else {
        if (name === "SET") values.set(key, value);
        replies += "+OK\r\n";
      }
    }
    rest = bytes.subarray(at);
    if (replies !== "") socket.write(replies, "latin1");
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening on ${typeof address === "object" ? address?.port : address}`);
});
process.once("SIGTERM", () => process.exit(0));

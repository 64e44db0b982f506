/**
 * The least that an HTTP server in JavaScript can do: it finds the end of a head
 * and the Content-Length, reads nothing else, and gives every request the same
 * short answer in one write. It checks nothing, so it is a bound and no server.
 *
 * node bench/peers/bare-reader.ts
 */
import { createServer } from "node:net";

const HEAD_END = Buffer.from("\r\n\r\n");
const LENGTH = /\r\ncontent-length: (\d+)/i;
const BODY = '{"result":"OK"}';
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    let answers = "";
    for (;;) {
      const headEnd = rest.indexOf(HEAD_END);
      if (headEnd < 0) break;
      const length = LENGTH.exec(rest.latin1Slice(0, headEnd));
      const end = headEnd + HEAD_END.length + Number(length?.[1] ?? 0);
      if (rest.length < end) break;
      answers += ANSWER;
      rest = rest.subarray(end);
    }
    if (answers !== "") socket.write(answers, "latin1");
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening on ${typeof address === "object" ? address?.port : address}`);
});
process.once("SIGTERM", () => process.exit(0));

/**
 * A minimal destination: it reads requests by
 * their Content-Length and answers each with the same bytes. Prints its port.
 */
import { createServer } from "node:net";

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";

const server = createServer((socket) => {
  let rest = "";
  socket.setEncoding("latin1");
  socket.on("error", () => socket.destroy());
  socket.on("data", (piece) => {
    rest += String(piece);
    let answers = "";
    for (;;) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) break;
      const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, end))?.[1] ?? 0);
      if (rest.length < end + 4 + length) break;
      rest = rest.slice(end + 4 + length);
      answers += ANSWER;
    }
    if (answers !== "") socket.write(answers);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`port ${typeof address === "object" ? address?.port : address}`);
});

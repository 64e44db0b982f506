/** The destination: answers each request as soon as it is complete, and reads only the parts that are measured. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/** Called for each request: bytes that begin with it, and the position of its body in them. */
export type OnArrival = (bytes: Buffer, bodyStart: number, bodyEnd: number) => void;

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");
const BODY_LENGTH = Buffer.from("\r\ncontent-length: ");

/** Listens on a free port. Resolves with the URL to publish to. */
export async function startSink(onArrival: OnArrival): Promise<string> {
  const server = createServer({ noDelay: true }, (socket) => serve(socket, onArrival)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}/hook`;
}

function serve(socket: Socket, onArrival: OnArrival): void {
  let rest: Buffer = Buffer.alloc(0);
  // A server that is stopped during a call breaks the connection.
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const headEnd = bytes.indexOf(HEAD_END);
      const field = headEnd < 0 ? -1 : bytes.indexOf(BODY_LENGTH);
      if (field < 0 || field > headEnd) break;
      const bodyStart = headEnd + HEAD_END.length;
      const bodyEnd =
        bodyStart + Number.parseInt(bytes.latin1Slice(field + BODY_LENGTH.length, field + BODY_LENGTH.length + 12), 10);
      if (bytes.length < bodyEnd) break;
      onArrival(bytes, bodyStart, bodyEnd);
      socket.write(ANSWER);
      bytes = bytes.subarray(bodyEnd);
    }
    rest = bytes;
  });
}

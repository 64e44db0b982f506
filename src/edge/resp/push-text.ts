/** Pushes to subscribers, monitors and clients that track keys as RESP (Redis: pub/sub, MONITOR, client-side caching). */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Push } from "../../store/mod.ts";
import type { RespVersion } from "./replies.ts";

/** A push to many connections is printed once for each version. */
const printed: Readonly<Record<RespVersion, WeakMap<Push, Bytes>>> = { 2: new WeakMap(), 3: new WeakMap() };

/** An array in RESP2, a push in RESP3; the line of a monitor is a simple string in both. */
export function pushText(push: Push, version: RespVersion): Bytes {
  const texts = printed[version];
  let text = texts.get(push);
  if (text === undefined) {
    text = print(push, version);
    texts.set(push, text);
  }
  return text;
}

function print(push: Push, version: RespVersion): Bytes {
  const sign = version === 2 ? "*" : ">";
  switch (push.kind) {
    case "message":
      return `${sign}3\r\n$7\r\nmessage\r\n${bulk(push.channel)}${bulk(push.payload)}`;
    case "smessage":
      return `${sign}3\r\n$8\r\nsmessage\r\n${bulk(push.channel)}${bulk(push.payload)}`;
    case "pmessage":
      return `${sign}4\r\n$8\r\npmessage\r\n${bulk(push.pattern)}${bulk(push.channel)}${bulk(push.payload)}`;
    case "monitor":
      return `+${push.line}\r\n`;
    case "invalidate": {
      const { keys } = push;
      // In RESP2 only a subscribed connection gets it, as a message.
      if (version === 2)
        return `*3\r\n$7\r\nmessage\r\n${bulk(INVALIDATE_CHANNEL)}${keys === null ? "$-1\r\n" : list(keys)}`;
      return `>2\r\n$10\r\ninvalidate\r\n${keys === null ? "_\r\n" : list(keys)}`;
    }
    case "tracking-redir-broken":
      return `${sign}2\r\n${bulk(push.kind)}:${push.clientId}\r\n`;
    default: {
      const never: never = push;
      return never;
    }
  }
}

/** The channel of Redis' invalidations over RESP2. */
const INVALIDATE_CHANNEL = "__redis__:invalidate";

function list(items: readonly Bytes[]): Bytes {
  return `*${items.length}\r\n${items.map(bulk).join("")}`;
}

function bulk(bytes: Bytes): Bytes {
  return `$${bytes.length}\r\n${bytes}\r\n`;
}

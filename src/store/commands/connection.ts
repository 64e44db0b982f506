/** The commands of the connection family that make sense without a connection: over HTTP, PING and ECHO. */
import { family, noKeys } from "../command.ts";
import { wrongArity } from "../errors.ts";
import { bulk, pong } from "../reply.ts";

export const connectionCommands = family("connection", [
  {
    name: "PING",
    summary: "Answers PONG, or the message it is given",
    arity: -1,
    flags: ["fast", "public"],
    keys: noKeys,
    run: ({ arg, argCount, command }) => {
      if (argCount > 2) throw wrongArity(command.name);
      return argCount === 1 ? pong : bulk(arg(1));
    },
  },
  {
    name: "ECHO",
    summary: "Answers the message it is given",
    arity: 2,
    flags: ["loading", "stale", "fast", "public"],
    keys: noKeys,
    run: ({ arg }) => bulk(arg(1)),
  },
]);

/** Publish and subscribe. There are no subscribers before the event streams are built, and PUBLISH says so. */
import { family, noKeys } from "../command.ts";
import { zero } from "../reply.ts";

export const pubsubCommands = family("pubsub", [
  {
    name: "PUBLISH",
    summary: "Sends a message to the subscribers of a channel and answers how many there were",
    arity: 3,
    flags: ["pubsub", "loading", "stale", "fast"],
    keys: noKeys,
    run: () => zero,
  },
]);

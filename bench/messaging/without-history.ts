/**
 * Loaded in front of the program (`node --import`), in all its threads: where
 * it would open a history, it gets one that takes everything and keeps nothing.
 * For measuring what the history costs; the program has no such setting.
 */
import { registerHooks } from "node:module";

const DOOR = /\/history-door\.[jt]s$/;
const ABSENT = new URL("absent-history.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context);
    return DOOR.test(resolved.url)
      ? { ...resolved, url: ABSENT, format: "module-typescript", shortCircuit: true }
      : resolved;
  },
});

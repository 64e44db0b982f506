/**
 * Loaded before the program (`node --import`), in all its threads: instead
 * of opening a history, it gets one that accepts everything and stores nothing.
 * For measuring the cost of the history; the program has no such setting.
 */
import { registerHooks } from "node:module";

const HISTORY = /\/program\/history\/history-store\.[jt]s$/;
const ABSENT = new URL("absent-history.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context);
    return HISTORY.test(resolved.url)
      ? { ...resolved, url: ABSENT, format: "module-typescript", shortCircuit: true }
      : resolved;
  },
});

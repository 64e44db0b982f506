"use strict";
/*
 * Loaded with `--require` into a program that runs its sources: its journals have
 * the next format. It reads the current one too, and differs in nothing else.
 */
const { registerHooks } = require("node:module");

const FORMAT = /^export const FORMAT = (\d+);$/m;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith("/persistence/journal/file-format.ts")) return loaded;
    const source = String(loaded.source);
    if (!FORMAT.test(source)) throw new Error(`${url} states no format`);
    return { ...loaded, source: source.replace(FORMAT, (_, format) => `export const FORMAT = ${Number(format) + 1};`) };
  },
});

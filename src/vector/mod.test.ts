import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";

test("mod.ts loads neither the engine nor WebAssembly", async () => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    load(url, context, nextLoad) {
      loaded.push(url);
      return nextLoad(url, context);
    },
  });
  await import("./mod.ts");
  hooks.deregister();
  assert.ok(loaded.some((url) => url.endsWith("/vector/mod.ts")));
  const heavy = loaded.filter((url) => /\.generated\.ts$|\/vector\/(?:graph|rows|search)\//.test(url));
  assert.deepEqual(heavy, []);
});

/** larder in tests of Vitest: `const test = base.extend(fixtures)`. */
import { type FreshLarder, type FrozenLarder, freshLarder } from "./fresh-larder.ts";

export { type FreshLarder, type FreshLarderOptions, type FrozenLarder, freshLarder } from "./fresh-larder.ts";

/** Runs the test with the value of a fixture. */
type Use<Value> = (value: Value) => Promise<void>;

/** Each test that names one of them gets a larder of its own, which is deleted after the test. */
export const fixtures = {
  // Vitest reads the names that a fixture needs from its source: these need no other.
  // biome-ignore lint/correctness/noEmptyPattern: Vitest refuses another form.
  larder: async ({}: object, use: Use<FreshLarder>): Promise<void> => {
    await using larder = await freshLarder();
    await use(larder);
  },
  // biome-ignore lint/correctness/noEmptyPattern: As above.
  frozenLarder: async ({}: object, use: Use<FrozenLarder>): Promise<void> => {
    await using larder = await freshLarder({ clock: "frozen" });
    await use(larder);
  },
};

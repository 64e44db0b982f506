/** larder in tests of Jest. The package has it as a CommonJS module too, because Jest runs most tests as such. */
export { type FreshLarder, type FreshLarderOptions, type FrozenLarder, freshLarder } from "./fresh-larder.ts";

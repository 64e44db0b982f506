/** The global teardown of Jest, which calls no function that its setup returned. */
export { globalTeardown as default } from "./setup.ts";

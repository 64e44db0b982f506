import { testQuickstart } from "./checks.mjs";

testQuickstart((port) => [
  process.execPath,
  "node_modules/next/dist/bin/next",
  "start",
  "--hostname",
  "127.0.0.1",
  "--port",
  port,
]);

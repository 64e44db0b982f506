import { testQuickstart } from "./checks.mjs";

testQuickstart((_port, variables) => {
  // The server takes requests for those of a proxy with https, unless a header of the proxy says otherwise.
  variables.UPSTASH_WORKFLOW_URL = `http://127.0.0.1:${variables.PORT}`;
  return [process.execPath, "build/index.js"];
});

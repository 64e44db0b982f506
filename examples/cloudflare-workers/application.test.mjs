import { testQuickstart } from "./checks.mjs";

testQuickstart((port, variables) => {
  // The development server asks nobody on the internet.
  Object.assign(variables, { CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false", CI: "1" });
  const options = ["--ip", "127.0.0.1", "--port", port, "--inspector-port", "0"];
  return [process.execPath, "node_modules/wrangler/bin/wrangler.js", "dev", ...options];
});

/**
 * Builds the console into `dist/console/` of the package, from where the admin port serves it. The policy of its pages
 * allows no inline script and no inline style sheet, so the page refers to files only.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/console/",
  build: {
    outDir: fileURLToPath(new URL("../dist/console", import.meta.url)),
    emptyOutDir: true,
    // Browsers of the last two years.
    target: "es2023",
    // A data: address would need an exception in the policy of the pages.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});

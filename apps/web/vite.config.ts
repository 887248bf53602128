import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the page works below any path.
  base: "./",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2024",
    // No data: addresses and no script for old browsers: the page's policy allows neither.
    assetsInlineLimit: 0,
    modulePreload: false,
  },
});

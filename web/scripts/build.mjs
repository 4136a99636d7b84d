// Bundles the page into the Python package: page.js and page.css, each one file.
import { build } from "esbuild";

await build({
  entryPoints: { page: "src/main.ts" },
  outdir: "../python/heatsoak/report/page/bundle",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});

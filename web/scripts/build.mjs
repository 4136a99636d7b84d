// Bundles the page into the Python package: page.js and page.css, each one file.
import { readFileSync } from "node:fs";
import { build } from "esbuild";

// uPlot's licence asks that its notice goes where its code goes.
const uplot = readFileSync("node_modules/uplot/LICENSE", "utf8").replaceAll("*/", "");
const notice = `/*! Contains uPlot.\n${uplot.trim()}\n*/`;

await build({
  entryPoints: { page: "src/main.ts" },
  outdir: "../python/heatsoak/report/page/bundle",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: { js: notice, css: notice },
  logLevel: "warning",
});

// Bundles test/*.test.ts, since Node 20 reads no TypeScript, and hands them to Node's test runner.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
rmSync(".test", { recursive: true, force: true });
await build({
  entryPoints: tests.map((name) => `test/${name}`),
  outdir: ".test",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  logLevel: "warning",
});
const files = tests.map((name) => `.test/${name.replace(/\.ts$/, ".mjs")}`);
process.exit(spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1);

// Makes an html of a page.json, to look at: node scripts/preview.mjs PAGE.json OUT.html
import { readFileSync, writeFileSync } from "node:fs";

const [from, to] = process.argv.slice(2);
if (!from || !to) {
  console.error("say what to read and what to write: npm run preview -- PAGE.json OUT.html");
  process.exit(2);
}
const bundle = (name) =>
  readFileSync(
    new URL(`../../python/heatsoak/report/page/bundle/${name}`, import.meta.url),
    "utf8",
  );
const page = readFileSync(from, "utf8").replaceAll("<", "\\u003c");
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";
writeFileSync(
  to,
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>heatsoak</title><style>${bundle("page.css")}</style></head>
<body><main id="heatsoak"><p>This page draws its charts with JavaScript.</p></main>
<script type="application/json" id="heatsoak-page">${page}</script>
<script>${bundle("page.js").replaceAll("</script", "<\\/script")}</script></body></html>
`,
);

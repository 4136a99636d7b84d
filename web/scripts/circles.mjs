// Names each circle of modules that import each other, types included, and fails where there is one.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

const modules = readdirSync("src", { recursive: true })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => join("src", name));

const imports = new Map(
  modules.map((module) => {
    const { importedFiles } = ts.preProcessFile(readFileSync(module, "utf8"));
    const named = importedFiles.map(({ fileName }) => `${join(dirname(module), fileName)}.ts`);
    return [module, named.map(normalize).filter((name) => modules.includes(name))];
  }),
);

const done = new Set();
const circles = [];

function follow(module, path) {
  if (path.includes(module)) {
    circles.push([...path.slice(path.indexOf(module)), module]);
  } else if (!done.has(module)) {
    for (const imported of imports.get(module)) follow(imported, [...path, module]);
    done.add(module);
  }
}

for (const module of modules) follow(module, []);
for (const circle of circles) console.error(`import circle: ${circle.join(" -> ")}`);
process.exit(circles.length > 0 ? 1 : 0);

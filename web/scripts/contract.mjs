// Writes src/contract.ts from the models of heatsoak.report.page.contract; --check only compares.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
const target = fileURLToPath(new URL("../src/contract.ts", import.meta.url));
const source = `
import json
from pydantic.json_schema import models_json_schema
from heatsoak.report.page.contract import Appended, Page
models = [(Page, "serialization"), (Appended, "serialization")]
_, schema = models_json_schema(models, title="Contract", ref_template="#/$defs/{model}")
schema["type"] = "object"
schema["properties"] = {m.__name__: {"$ref": "#/$defs/" + m.__name__} for m, _ in models}
schema["required"] = list(schema["properties"])
def bare(node):
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            for one in node["properties"].values():
                one.pop("title", None)
        if "prefixItems" in node:
            node["items"] = node.pop("prefixItems")
        for one in node.values():
            bare(one)
    elif isinstance(node, list):
        for one in node:
            bare(one)
bare(schema)
print(json.dumps(schema))
`;

const schema = JSON.parse(
  execFileSync(process.env.PYTHON ?? "python3", ["-c", source], {
    env: { ...process.env, PYTHONPATH: `${root}/python` },
    encoding: "utf8",
    maxBuffer: 1 << 26,
  }),
);
const made = await compile(schema, "Contract", {
  bannerComment: "// Made by `npm run contract` from heatsoak.report.page.contract: do not edit.",
  additionalProperties: false,
  maxItems: 8,
  style: { printWidth: 100 },
});
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== made) {
    console.error("src/contract.ts differs from the Python models: run `npm run contract`");
    process.exit(1);
  }
} else {
  writeFileSync(target, made);
}

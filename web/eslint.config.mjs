import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", ".test", "src/contract.ts", "scripts", "*.mjs"] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    // Node's runner awaits its tests itself.
    files: ["test/**"],
    rules: { "@typescript-eslint/no-floating-promises": "off" },
  },
  {
    languageOptions: { parserOptions: { project: "./tsconfig.json" } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "all text goes in as text" },
        { property: "outerHTML", message: "all text goes in as text" },
        { property: "insertAdjacentHTML", message: "all text goes in as text" },
      ],
    },
  },
);

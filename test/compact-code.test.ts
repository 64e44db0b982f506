/** The spaces that the build leaves out (`tools/compact-code.ts`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compactCode } from "../tools/compact-code.ts";

const cases: readonly (readonly [code: string, compact: string])[] = [
  ["if (a) {\n\tthrow b + c;\n} else {\n\td = [1, 2];\n}", "if(a){throw b+c;}else{d=[1,2];}"],
  ["f(\n\ta,\n\t[\n\t\tb\n\t]\n);\ng()\nh();", "f(a,[b]);\ng()\nh();"],
  ["let a = { // {\n\tb\n};", "let a={ // {\nb};"],
  ["const text = \"a  + b\", other = '\tc';", "const text=\"a  + b\",other='\tc';"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is code
  ["const t = `\n\t a  ${b + `\n\t${c  }  d`}\n\t`;", "const t=`\n\t a  ${b+`\n\t${c}  d`}\n\t`;"],
  ["const r = / +  a\\/ /g, q = a / b / c;", "const r= / +  a\\/ /g,q=a / b / c;"],
  ["a = b + +c - -d + ++e;\na = 1 .toString();", "a=b+ +c- -d+ ++e;\na=1 .toString();"],
  ["/*  @license  */\nx = a ? .5 : b?.c;", "/*  @license  */\nx=a? .5:b?.c;"],
  [
    "class A {\n\t#x = 1;\n\tstatic has(a) {\n\t\treturn #x in a;\n\t}\n}",
    "class A{#x=1;\nstatic has(a){return #x in a;}}",
  ],
  ['const ö = "🙂  ü", ä = `🙂\n  ü`, o = 1;', 'const ö="🙂  ü",ä=`🙂\n  ü`,o=1;'],
  ["for (const x of a) if (x < !b) await f(x);", "for(const x of a)if(x< !b)await f(x);"],
];

test("spaces of code are left out, but not those of literals and comments", () => {
  for (const [code, compact] of cases) {
    assert.equal(compactCode(code), compact);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { childText, escapeXml, InvalidXml, parseXml } from "./xml.ts";

test("reads elements, text, entities, CDATA, comments, attributes and name spaces", () => {
  const text =
    '\ufeff<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<r:Root xmlns:r="urn:x" a='1 > 0'><!-- <a> --><A>x &amp;&lt;&gt;&quot;&apos;&#65;&#x42;</A>\n<B/><B />` +
    "<C><D>1</D><D>2</D></C><E>1<![CDATA[<b>&amp;]]]]>2<![CDATA[]]></E></r:Root >\n<!-- end -->\n";
  const root = parseXml(text);
  assert.equal(root.name, "Root");
  assert.deepEqual(
    root.children.map(({ name, text: inner, children }) => [name, inner, children.length]),
    [
      ["A", "x &<>\"'AB", 0],
      ["B", "", 0],
      ["B", "", 0],
      ["C", "", 2],
      ["E", "1<b>&amp;]]2", 0],
    ],
  );
  assert.equal(childText(root, "A"), "x &<>\"'AB");
  assert.equal(childText(root, "none"), undefined);
});

test("what is escaped reads as it was", () => {
  const text = `a<b>&"'&amp;`;
  assert.equal(parseXml(`<x>${escapeXml(text)}</x>`).text, text);
});

const hostile: readonly string[] = [
  "",
  " ",
  "text",
  "{}",
  "<",
  "<a",
  "<a>",
  "<a></b>",
  "</a>",
  "<a/><b/>",
  "<a/>text",
  "<a><b></a></b>",
  '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
  "<a><![CDATA[x]]</a>",
  "<a><![CDATA[x",
  "<![CDATA[x]]>",
  "<a/><![CDATA[x]]>",
  "<a><?php x ?></a>",
  "<a>&unknown;</a>",
  "<a>&constructor;</a>",
  "<a>&amp</a>",
  "<a>&</a>",
  "<a>&#0;</a>",
  "<a>&#x110000;</a>",
  "<a>&#-1;</a>",
  "<a><!-- x</a>",
  "<a b></a>",
  "<a b=c></a>",
  '<a b="<"></a>',
  "<1/>",
  "<a>".repeat(17),
  `${"<a>".repeat(17)}${"</a>".repeat(17)}`,
  `<a>${"<b/>".repeat(50_001)}</a>`,
  `<a${' b="c"'.repeat(5_000)}`,
  `<a${" ".repeat(50_000)}`,
  "<!--".repeat(20_000),
];

test("anything else than elements and text is refused", () => {
  for (const text of hostile) assert.throws(() => parseXml(text), InvalidXml, text.slice(0, 60));
});

test("every part of a valid answer is refused", () => {
  const text = "<a x='1'><b>1&amp;2</b><!-- c --><d/></a>";
  parseXml(text);
  for (let end = 0; end < text.length; end += 1) assert.throws(() => parseXml(text.slice(0, end)), InvalidXml);
});

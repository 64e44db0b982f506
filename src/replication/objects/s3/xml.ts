/**
 * Reads the XML of a store's answers: elements and their text, which is all that S3 uses.
 *
 * An answer may come from anybody who holds the endpoint, so reading is strict and bounded: document types and entities
 * of their own are refused, and so are too many elements or levels. The parser is our own because those on npm
 * accept more than this and are larger: fast-xml-parser has 2 MB in eight packages.
 */

export interface XmlElement {
  /** Without its namespace. */
  readonly name: string;
  /** The text of this element, without that of its children. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** A text that is not XML of this kind. The message repeats nothing of it. */
export class InvalidXml extends Error {
  override name = "InvalidXml";
}

/** Begins a text without entities: moto writes the messages of errors so. */
const CDATA = "<![CDATA[";
const DEPTH_MAX = 16;
/** A list of a thousand objects has up to ten elements for each. */
const ELEMENTS_MAX = 50_000;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** One piece of markup at a time; the y flag makes it follow the one before. No part of it can match in two ways. */
const MARKUP =
  /<(?:(\/)([A-Za-z_][\w.:-]*)\s*|([A-Za-z_][\w.:-]*)((?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?))>/y;
const DECLARATION = /^\ufeff?\s*(?:<\?xml\s[^<>]*\?>)?\s*/;

interface OpenElement {
  readonly tag: string;
  text: string;
  readonly children: XmlElement[];
}

/** The element of a document. Throws `InvalidXml`. */
export function parseXml(text: string): XmlElement {
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  let elementCount = 0;
  const close = (element: OpenElement): void => {
    const done = { name: element.tag.replace(/^.*:/, ""), text: element.text, children: element.children };
    const parent = open.at(-1);
    if (parent !== undefined) parent.children.push(done);
    else root = done;
  };
  let at = DECLARATION.exec(text)?.[0].length ?? 0;
  while (at < text.length) {
    const next = text.indexOf("<", at);
    const between = text.slice(at, next === -1 ? text.length : next);
    const inside = open.at(-1);
    if (inside !== undefined) inside.text += decodeText(between);
    else if (between.trim() !== "") throw new InvalidXml("text outside of the element");
    if (next === -1) break;
    if (text.startsWith("<!--", next)) {
      const end = text.indexOf("-->", next + 4);
      if (end === -1) throw new InvalidXml("a comment without an end");
      at = end + 3;
      continue;
    }
    if (inside !== undefined && text.startsWith(CDATA, next)) {
      const end = text.indexOf("]]>", next);
      if (end === -1) throw new InvalidXml("a text without an end");
      inside.text += text.slice(next + CDATA.length, end);
      at = end + 3;
      continue;
    }
    MARKUP.lastIndex = next;
    const [all = "", isEnd, endTag = "", startTag = "", , isEmpty] = MARKUP.exec(text) ?? [];
    if (all === "") throw new InvalidXml("markup that is not expected");
    at = next + all.length;
    if (isEnd !== undefined) {
      const ended = open.pop();
      if (ended === undefined || ended.tag !== endTag) throw new InvalidXml("an end without its beginning");
      close(ended);
      continue;
    }
    elementCount += 1;
    if (root !== undefined || open.length >= DEPTH_MAX || elementCount > ELEMENTS_MAX)
      throw new InvalidXml("too many elements");
    const started = { tag: startTag, text: "", children: [] };
    if (isEmpty === "/") close(started);
    else open.push(started);
  }
  if (root === undefined || open.length > 0) throw new InvalidXml("the end is missing");
  return root;
}

/** The text of the first child with this name, undefined without such a child. */
export function childText(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

/** Writes a text for an element. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function decodeText(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&([^;&]{0,12})(;?)/g, (_, body: string, end: string) => {
    if (end === "") throw new InvalidXml("an entity without an end");
    const named = Object.hasOwn(ENTITIES, body) ? ENTITIES[body] : undefined;
    if (named !== undefined) return named;
    const [, hexadecimal, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}))$/.exec(body) ?? [];
    const code = hexadecimal !== undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal ?? Number.NaN);
    if (!(code > 0 && code <= 0x10_ffff)) throw new InvalidXml("an entity that is not known");
    return String.fromCodePoint(code);
  });
}

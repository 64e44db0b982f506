/**
 * Prints documents as JSON text. Strings escape only the necessary characters,
 * so a document that was stored compactly is returned byte for byte, except for
 * numbers with another spelling.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { replyTooLarge } from "../errors.ts";
import { REPLY_BYTES_MAX } from "../reply/budget.ts";
import type { JsonNode } from "./node.ts";
import { isNumber, textOfNumber } from "./number.ts";
import type { JsonObject } from "./object.ts";

/** Text between the tokens: INDENT, NEWLINE and SPACE of JSON.GET. */
export interface Layout {
  readonly indent: Bytes;
  readonly newline: Bytes;
  readonly space: Bytes;
}

export const compactLayout: Layout = { indent: "", newline: "", space: "" };

/** A byte takes six at most: \u001f. */
const ESCAPED_BYTES_MAX = 6;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The text of one reply, piece by piece. All of it counts against one budget. */
export class JsonPrinter {
  readonly #layout: Layout;
  readonly #isCompact: boolean;
  readonly #bytesMax: number;
  #text = "";

  constructor(layout = compactLayout, bytesMax = REPLY_BYTES_MAX) {
    this.#layout = layout;
    this.#isCompact = layout.indent === "" && layout.newline === "" && layout.space === "";
    this.#bytesMax = bytesMax;
  }

  /** The whole printed text. */
  get text(): Bytes {
    return this.#text;
  }

  /** Prints a node; `level` is the number of open containers around it. Throws `replyTooLarge` above the budget. */
  node(node: JsonNode, level = 0): void {
    if (typeof node === "string") this.#string(node);
    else if (node === null || typeof node === "boolean") this.#put(`${node}`);
    else if (isNumber(node)) this.#put(textOfNumber(node));
    else if (Array.isArray(node)) this.elements(node, level);
    else this.#object(node, level);
  }

  /** Prints an array of these nodes, which need not be an array in a document. */
  elements(nodes: readonly JsonNode[], level = 0): void {
    this.#put("[");
    for (let i = 0; i < nodes.length; i += 1) {
      this.#separate(i, level + 1);
      this.node(nodes[i] as JsonNode, level + 1);
    }
    this.#close("]", nodes.length, level);
  }

  /** Prints an object whose members are printed by functions, each on level 1. */
  members(members: readonly (readonly [name: Bytes, print: () => void])[]): void {
    this.#put("{");
    for (const [index, [name, print]] of members.entries()) {
      this.#separate(index, 1);
      this.#name(name);
      print();
    }
    this.#close("}", members.length, 0);
  }

  #object(object: JsonObject, level: number): void {
    this.#put("{");
    let index = 0;
    object.visit((name, member) => {
      this.#separate(index, level + 1);
      index += 1;
      this.#name(name);
      this.node(member, level + 1);
    });
    this.#close("}", index, level);
  }

  #name(name: Bytes): void {
    this.#string(name);
    this.#put(this.#isCompact ? ":" : `:${this.#layout.space}`);
  }

  #separate(index: number, level: number): void {
    if (index > 0) this.#text += ",";
    if (!this.#isCompact) this.#newLine(level);
  }

  #close(sign: string, count: number, level: number): void {
    if (count > 0 && !this.#isCompact) this.#newLine(level);
    this.#put(sign);
  }

  #newLine(level: number): void {
    const { indent, newline } = this.#layout;
    // An indent may be as long as a request, so it is counted before it is printed.
    this.#expect(newline.length + indent.length * level);
    this.#text += newline + indent.repeat(level);
  }

  #string(bytes: Bytes): void {
    if (bytes.length * ESCAPED_BYTES_MAX > this.#bytesMax - this.#text.length) this.#expect(escapedBytesOf(bytes));
    // Escapes quotes, backslashes and control characters, and no other bytes.
    this.#put(JSON.stringify(bytes));
  }

  #put(text: Bytes): void {
    this.#expect(text.length);
    this.#text += text;
  }

  #expect(byteCount: number): void {
    if (byteCount > this.#bytesMax - this.#text.length) throw replyTooLarge;
  }
}

/** The node as compact text. */
export function textOfNode(node: JsonNode): Bytes {
  const printer = new JsonPrinter();
  printer.node(node);
  return printer.text;
}

/** An upper bound for the string in quotes. */
function escapedBytesOf(bytes: Bytes): number {
  let count = bytes.length + 2;
  for (let i = 0; i < bytes.length; i += 1) {
    const code = bytes.charCodeAt(i);
    if (code < SPACE || code === QUOTE || code === BACKSLASH) count += ESCAPED_BYTES_MAX - 1;
  }
  return count;
}

/**
 * The files of the console, as answers. Which files there are was read before any
 * request; a request only looks its path up.
 *
 * (1) Scripts and styles come from files of this origin only: none inline, so text
 *     of users that reaches a page as markup runs nothing. (CodeMirror puts its
 *     styles into constructed style sheets if it is in a shadow root, so it needs
 *     neither a nonce nor 'unsafe-inline'.)
 * (2) Files below `assets/` have a hash of their content in their names, and may be
 *     cached without asking. The page itself is never cached.
 * (3) Every other path is the page, which reads the path itself.
 */
import { brotliDecompressSync } from "node:zlib";
import { consoleFileMissing, consoleMethodNotAllowed } from "../../errors.ts";
import type { HttpReply, RequestHead } from "../../handler.ts";
import { failureReply } from "../../respond.ts";

/** The build keeps text files only compressed. */
export type ConsoleFile = { readonly content: Buffer } | { readonly brotli: Buffer };

/** By path below `/console/`, such as `assets/index-B2x.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export const PAGE = "index.html";
const ASSETS = "assets/";

/** Headers of every answer of the console. */
export const consoleHeaders: readonly string[] = [
  "X-Content-Type-Options",
  "nosniff",
  "Referrer-Policy",
  "no-referrer",
  "Cross-Origin-Opener-Policy",
  "same-origin",
  "Cross-Origin-Resource-Policy",
  "same-origin",
];

/** keeps (1) */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  png: "image/png",
  ico: "image/x-icon",
  woff2: "font/woff2",
  webmanifest: "application/manifest+json",
  txt: "text/plain; charset=utf-8",
};

/** Answers a GET or HEAD of a path below `/console`, without its query. `files`: undefined if the console is not built. */
export function pageReply(head: RequestHead, path: string, files: ConsoleFiles | undefined): HttpReply {
  const page = files?.get(PAGE);
  if (head.method !== "GET" && head.method !== "HEAD")
    return refused(failureReply(consoleMethodNotAllowed(head.method)));
  if (files === undefined || page === undefined) return notBuilt;
  const name = path.replace(/^\/console\/?/, "");
  const file = files.get(name);
  if (file !== undefined && name !== PAGE) return fileReply(head, { name, file });
  // A missing script must not be answered with a page.
  if (name.startsWith(ASSETS)) return refused(failureReply(consoleFileMissing));
  return fileReply(head, { name: PAGE, file: page }); // keeps (3)
}

function fileReply(
  head: RequestHead,
  { name, file }: { readonly name: string; readonly file: ConsoleFile },
): HttpReply {
  const isSentCompressed = "brotli" in file && acceptsBrotli(head.header("accept-encoding") ?? "");
  const caching = name.startsWith(ASSETS) ? "public, max-age=31536000, immutable" : "no-store"; // keeps (2)
  return {
    status: 200,
    headers: [
      ...consoleHeaders,
      "Content-Security-Policy",
      PAGE_POLICY,
      "Content-Type",
      CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
      "Cache-Control",
      caching,
      "Vary",
      "Accept-Encoding",
      ...(isSentCompressed ? ["Content-Encoding", "br"] : []),
    ],
    body: isSentCompressed ? file.brotli : plainContent(file),
    route: "console page",
  };
}

function acceptsBrotli(accepted: string): boolean {
  return accepted.split(",").some((item) => {
    const [name, ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    return name === "br" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

const plainContents = new WeakMap<Buffer, Buffer>();

/** Decompressed once, for browsers on a connection without TLS, which ask for no brotli. */
function plainContent(file: ConsoleFile): Buffer {
  if ("content" in file) return file.content;
  let content = plainContents.get(file.brotli);
  if (content === undefined) {
    content = brotliDecompressSync(file.brotli);
    plainContents.set(file.brotli, content);
  }
  return content;
}

const notBuilt: HttpReply = {
  status: 404,
  headers: [...consoleHeaders, "Content-Type", "text/plain; charset=utf-8", "Cache-Control", "no-store"],
  body: "The console is not built; `npm run console` in a checkout builds it\n",
  route: "console page",
};

function refused(reply: HttpReply): HttpReply {
  return {
    ...reply,
    headers: [...consoleHeaders, "Cache-Control", "no-store", ...reply.headers],
    route: "console page",
  };
}

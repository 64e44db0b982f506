/**
 * Requests that HTTP/1 readers have been known to frame differently, by technique,
 * and what ours makes of each. The techniques are those of the public collections
 * (RFC 9112 section 11.2, PortSwigger's and defparam's smugglers, the HTTP Garden,
 * Http11Probe, the cases of llhttp and of its advisories); the cases are our own.
 *
 * Each case is followed by the request `NEXT`. A reader that frames the case
 * differently takes bytes of the one for the other.
 */

export const NEXT = "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
/** The request that a front end does not see, or the back end. */
const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

export interface SmugglingCase {
  readonly technique: string;
  readonly name: string;
  readonly bytes: string;
  /** The answers: method, target and body of each request that was framed, or the status of the refusal. */
  readonly answers: readonly string[];
  /** The first answers of `--http node`, where they differ. None: it waits for more bytes, and the case is not sent. */
  readonly node?: readonly string[];
}

type Row = readonly [name: string, bytes: string, answers: readonly string[], node?: readonly string[]];

const post = (fields: string, body: string): string => `POST /a HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n${body}`;
const get = (fields: string): string => `GET /a HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;
const line = (requestLine: string): string => `${requestLine}\r\nHost: a\r\n\r\n`;
const chunked = (body: string): string => post("Transfer-Encoding: chunked", body);
const sized = (value: string): string => post(`Content-Length:${value}`, "12345");

const NEXT_ANSWER = "GET /next ";
/** The case is one request with this body, and the next one is separate. */
const one = (body: string): readonly string[] => [`POST /a ${body}`, NEXT_ANSWER];
const malformed = ["400"];
const unsupported = ["501"];

const rows: Readonly<Record<string, readonly Row[]>> = {
  "Content-Length beside Transfer-Encoding": [
    [
      "the length ends within the chunks",
      post("Content-Length: 4\r\nTransfer-Encoding: chunked", `0\r\n\r\n${HIDDEN}`),
      malformed,
    ],
    [
      "the length goes beyond the chunks",
      post("Transfer-Encoding: chunked\r\nContent-Length: 60", `0\r\n\r\n${HIDDEN}`),
      malformed,
    ],
    ["the length agrees", post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), malformed],
    ["a length that is not a number", post("Content-Length: a\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), malformed],
    [
      "with Connection: close",
      post("Connection: close\r\nContent-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      malformed,
    ],
    ["identity", post("Content-Length: 5\r\nTransfer-Encoding: identity", "12345"), malformed],
    ["an unknown encoding", post("Content-Length: 5\r\nTransfer-Encoding: cow", "12345"), malformed],
    ["an empty encoding", post("Content-Length: 5\r\nTransfer-Encoding:", "12345"), malformed],
    ["Connection names Content-Length", post("Connection: Content-Length\r\nContent-Length: 5", "12345"), one("12345")],
    [
      "Connection names Transfer-Encoding",
      post("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      one(""),
    ],
  ],
  "spelling of Transfer-Encoding": [
    ["upper case", post("TRANSFER-ENCODING: CHUNKED", "0\r\n\r\n"), one("")],
    ["mixed case", post("TrAnSFer-EnCODinG: cHuNkeD", "0\r\n\r\n"), one("")],
    ["two spaces before the value", post("Transfer-Encoding:  chunked", "0\r\n\r\n"), one("")],
    ["a tab before the value", post("Transfer-Encoding:\tchunked", "0\r\n\r\n"), one("")],
    ["a space after the value", post("Transfer-Encoding: chunked ", "0\r\n\r\n"), one("")],
    ["a tab after the value", post("Transfer-Encoding: chunked\t", "0\r\n\r\n"), one(""), malformed],
    ["a space before the colon", post("Transfer-Encoding : chunked", "0\r\n\r\n"), malformed],
    ["a tab before the colon", post("Transfer-Encoding\t: chunked", "0\r\n\r\n"), malformed],
    ["a space before the name", post("X: a\r\n Transfer-Encoding: chunked", "0\r\n\r\n"), malformed],
    ["a space in the name", post("Transfer Encoding: chunked", "0\r\n\r\n"), malformed],
    ["a carriage return in the name", post("Transfer\r-Encoding: chunked", "0\r\n\r\n"), malformed],
    ["a byte above 127 in the name", post("Transf\x82r-Encoding: chunked", "0\r\n\r\n"), malformed],
    ["a byte above 127 in the value", post("Transfer-Encoding: ch\x96nked", "0\r\n\r\n"), unsupported],
    [
      "an underscore in the name",
      post("Transfer_Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"),
      one("0\r\n\r\n"),
    ],
    ["folded", post("Transfer-Encoding:\r\n chunked", "0\r\n\r\n"), malformed],
    ["folded with a tab", post("Transfer-Encoding:\r\n\tchunked", "0\r\n\r\n"), malformed],
    ["folded after a bare line feed", post("Transfer-Encoding:\n chunked", "0\r\n\r\n"), malformed],
    ["after a bare carriage return in another value", post("X: a\rTransfer-Encoding: chunked", "0\r\n\r\n"), malformed],
    ["after a bare line feed in another value", post("X: a\nTransfer-Encoding: chunked", "0\r\n\r\n"), malformed],
    ["a carriage return after the value", post("Transfer-Encoding: chunked\r", "0\r\n\r\n"), malformed],
    ["a prefix of the word", post("Transfer-Encoding: chunk", "0\r\n\r\n"), unsupported],
    ["letters before the word", post("Transfer-Encoding: xchunked", "0\r\n\r\n"), unsupported],
    ["in double quotes", post('Transfer-Encoding: "chunked"', "0\r\n\r\n"), unsupported],
    ["in single quotes", post("Transfer-Encoding: 'chunked'", "0\r\n\r\n"), unsupported],
    ["a comma before it", post("Transfer-Encoding: ,chunked", "0\r\n\r\n"), unsupported],
    ["a comma after it", post("Transfer-Encoding: chunked,", "0\r\n\r\n"), unsupported, malformed],
    ["a parameter", post("Transfer-Encoding: chunked;a=b", "0\r\n\r\n"), unsupported],
    ["another encoding before it", post("Transfer-Encoding: cow, chunked", "0\r\n\r\n"), unsupported],
    ["another encoding after it", post("Transfer-Encoding: chunked, cow", "0\r\n\r\n"), unsupported, malformed],
    ["other words around it", post("Transfer-Encoding: cow chunked bar", "0\r\n\r\n"), unsupported],
    ["compression before it", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), unsupported],
    ["twice in one field", post("Transfer-Encoding: chunked, chunked", "0\r\n\r\n"), unsupported, malformed],
    [
      "two fields",
      post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      unsupported,
      malformed,
    ],
    [
      "two fields, another one first",
      post("Transfer-Encoding: cow\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      unsupported,
    ],
    [
      "two fields, another one last",
      post("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow", "0\r\n\r\n"),
      unsupported,
      malformed,
    ],
    [
      "two fields, identity last",
      post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
      unsupported,
      malformed,
    ],
    ["as Content-Encoding", post("Content-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"), ["415"]],
    ["with an empty value", post("Transfer-Encoding:", "0\r\n\r\n"), unsupported, malformed],
    ["in HTTP/1.0", "POST /a HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", malformed],
    ["on GET", get("Transfer-Encoding: chunked").concat("3\r\nabc\r\n0\r\n\r\n"), ["GET /a abc", NEXT_ANSWER]],
  ],
  "spelling of Content-Length": [
    ["a plain length", sized(" 5"), one("12345")],
    ["no space", sized("5"), one("12345")],
    ["spaces and tabs around it", sized(" \t5 \t"), one("12345")],
    ["zeros before it", sized(" 005"), one("12345")],
    ["zeros that an octal number has", post("Content-Length: 010", "1234567890"), one("1234567890")],
    ["a plus", sized(" +5"), malformed],
    ["a minus", sized(" -5"), malformed],
    ["minus zero", sized(" -0"), malformed],
    ["hexadecimal", sized(" 0x5"), malformed],
    ["octal", sized(" 0o5"), malformed],
    ["an exponent", sized(" 5e0"), malformed],
    ["a fraction", sized(" 5.0"), malformed],
    ["an underscore in the number", post("Content-Length: 1_0", "1234567890"), malformed],
    ["a space in the number", sized(" 5 5"), malformed],
    ["a comma after it", sized(" 5,"), malformed],
    ["a list of one value", sized(" 5, 5"), malformed],
    ["a list of two values", sized(" 5, 0"), malformed],
    ["a parameter", sized(" 5;a"), malformed],
    ["empty", sized(""), malformed],
    ["only blanks", sized(" \t "), malformed],
    ["a letter", sized(" a"), malformed],
    ["digits that are not ASCII", sized(" \xb5"), malformed],
    ["a NUL after it", sized(" 5\x00"), malformed],
    ["a vertical tab before it", sized("\x0b5"), malformed],
    ["a form feed after it", sized(" 5\x0c"), malformed],
    ["a carriage return after it", sized(" 5\r"), malformed],
    ["2^64 + 5", sized(" 18446744073709551621"), malformed],
    ["2^63 + 5", sized(" 9223372036854775813"), malformed],
    ["2^32 + 5", sized(" 4294967301"), malformed],
    ["many digits", sized(` ${"0".repeat(400)}5`), malformed, one("12345")],
    ["two fields that agree", post("Content-Length: 5\r\nContent-Length: 5", "12345"), malformed],
    ["two fields that differ", post("Content-Length: 5\r\nContent-Length: 0", "12345"), malformed],
    ["two fields, one of them empty", post("Content-Length: 5\r\nContent-Length:", "12345"), malformed],
    ["a space before the colon", post("Content-Length : 5", "12345"), malformed],
    ["a byte that some take for a blank before the colon", post("Content-Length\x85: 5", "12345"), malformed],
    ["a space before the name", post("X: a\r\n Content-Length: 5", "12345"), malformed],
    ["folded", post("Content-Length:\r\n 5", "12345"), malformed],
    ["an underscore in the name", get("Content_Length: 5"), ["GET /a ", NEXT_ANSWER]],
    ["a dot in the name", get("Content.Length: 5"), ["GET /a ", NEXT_ANSWER]],
    ["letters after the name", get("Content-Lengthx: 5"), ["GET /a ", NEXT_ANSWER]],
    [
      "a request in the body of GET",
      get(`Content-Length: ${HIDDEN.length}`) + HIDDEN,
      [`GET /a ${HIDDEN}`, NEXT_ANSWER],
    ],
    [
      "a request in the body of OPTIONS",
      `OPTIONS /a HTTP/1.1\r\nHost: a\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
      [`OPTIONS /a ${HIDDEN}`, NEXT_ANSWER],
    ],
  ],
  "size of a chunk": [
    [
      "hexadecimal of both cases",
      chunked("a\r\n1234567890\r\nA\r\n1234567890\r\n0\r\n\r\n"),
      one("12345678901234567890"),
    ],
    ["zeros before it", chunked("003\r\nabc\r\n000\r\n\r\n"), one("abc")],
    ["a prefix", chunked("0x3\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a plus", chunked("+3\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a minus", chunked("-3\r\nabc\r\n0\r\n\r\n"), malformed],
    ["an underscore", chunked("0_3\r\nabc\r\n0\r\n\r\n"), malformed],
    ["letters after it", chunked("3these\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a space before it", chunked(" 3\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a space after it", chunked("3 \r\nabc\r\n0\r\n\r\n"), malformed],
    ["a tab after it", chunked("3\t\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a NUL after it", chunked("3\x00\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a comma", chunked("3,3\r\nabc\r\n0\r\n\r\n"), malformed],
    ["empty", chunked("\r\nabc\r\n0\r\n\r\n"), malformed],
    ["an empty line in place of the last one", chunked("3\r\nabc\r\n\r\n\r\n"), malformed],
    ["2^64 + 3", chunked("10000000000000003\r\nabc\r\n0\r\n\r\n"), malformed],
    ["2^32 + 3", chunked("100000003\r\nabc\r\n0\r\n\r\n"), malformed, []],
    ["quoted", chunked('"3"\r\nabc\r\n0\r\n\r\n'), malformed],
    ["not hexadecimal", chunked("Z\r\nabc\r\n0\r\n\r\n"), malformed],
  ],
  "line ends of chunks": [
    ["a bare line feed after the size", chunked("3\nabc\r\n0\r\n\r\n"), malformed],
    ["a bare carriage return after the size", chunked("3\rabc\r\n0\r\n\r\n"), malformed],
    ["two carriage returns after the size", chunked("3\r\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a bare line feed after the data", chunked("3\r\nabc\n0\r\n\r\n"), malformed],
    ["a bare carriage return after the data", chunked("3\r\nabc\r0\r\n\r\n"), malformed],
    ["nothing after the data", chunked("3\r\nabc0\r\n\r\n"), malformed],
    ["two bytes in place of the line end", chunked("3\r\nabcXX0\r\n\r\n"), malformed],
    ["more data than its size", chunked(`3\r\nabcdef\r\n0\r\n\r\n`), malformed],
    ["a bare line feed after the last size", chunked("0\n\r\n"), malformed],
    ["a bare line feed at the end", chunked("0\r\n\n"), malformed],
    ["a request within the data", chunked(`21\r\n${HIDDEN}\r\n0\r\n\r\n`), one(HIDDEN)],
  ],
  "extensions of chunks": [
    ["a name", chunked("3;a\r\nabc\r\n0\r\n\r\n"), one("abc")],
    ["a name and a value", chunked("3;a=b\r\nabc\r\n0;c\r\n\r\n"), one("abc")],
    ["a quoted value", chunked('3;a="b;\\"c"\r\nabc\r\n0\r\n\r\n'), one("abc")],
    ["nothing after the semicolon", chunked("3;\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a line feed within", chunked("3;a\nb\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a carriage return within", chunked("3;a\rb\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a carriage return before the semicolon", chunked("3\r;a\r\nabc\r\n0\r\n\r\n"), malformed],
    ["two carriage returns before the semicolon", chunked("3\r\r;a\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a line feed in a quoted value", chunked('3;a="\n"\r\nabc\r\n0\r\n\r\n'), malformed],
    ["a line end in a quoted value", chunked('3;a="\r\n"\r\nabc\r\n0\r\n\r\n'), malformed],
    ["a NUL", chunked("3;a\x00\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a byte that no token has", chunked("3;a[\r\nabc\r\n0\r\n\r\n"), malformed],
    ["a bare line feed that ends the line", chunked("3;a\nabc\r\n0\r\n\r\n"), malformed],
    ["17 KB of them", chunked(`3;${"a".repeat(17_000)}\r\nabc\r\n0\r\n\r\n`), malformed],
  ],
  trailers: [
    ["a field", chunked("0\r\nX: a\r\n\r\n"), one("")],
    ["Content-Length", chunked("0\r\nContent-Length: 9\r\n\r\n"), malformed],
    ["an invalid Content-Length", chunked("0\r\ncontent-length: 4, 4\r\n\r\n"), malformed],
    ["Transfer-Encoding", chunked("0\r\nTransfer-Encoding: chunked\r\n\r\n"), malformed],
    ["Host", chunked("0\r\nHost: b\r\n\r\n"), malformed, one("")],
    ["a line without a colon", chunked(`0\r\n${HIDDEN}`), malformed],
    ["a bare line feed", chunked("0\r\nX: a\n\r\n"), malformed],
    ["a continued line", chunked("0\r\nX: a\r\n b\r\n\r\n"), malformed],
    ["a space before the colon", chunked("0\r\nX : a\r\n\r\n"), malformed],
    ["a NUL", chunked("0\r\nX: a\x00\r\n\r\n"), malformed],
  ],
  "lines of a head": [
    ["a bare line feed ends the head", "GET /a HTTP/1.1\r\nHost: a\n\n", malformed],
    ["a bare line feed ends a field", "GET /a HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", malformed],
    ["a bare carriage return ends a field", "GET /a HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", malformed],
    ["two carriage returns", "GET /a HTTP/1.1\r\nHost: a\r\r\n\r\n", malformed],
    ["a carriage return before the empty line", "GET /a HTTP/1.1\r\nHost: a\r\n\r\r\n", malformed],
    ["a NUL in a value", get("X: a\x00b"), malformed],
    ["a control in a value", get("X: a\x01b"), malformed],
    ["DEL in a value", get("X: a\x7fb"), malformed],
    ["a byte above 127 in a name", get("X\xff: a"), malformed],
    ["a bracket in a name", get("X[: a"), malformed],
    ["an empty name", get(": a"), malformed],
    ["no colon", get("Xa"), malformed],
    ["a space after a name", get("X : a"), malformed],
    ["a continued field", get("X: a\r\n b"), malformed],
    ["a continued first field", "GET /a HTTP/1.1\r\n Host: a\r\n\r\n", malformed],
    ["a line feed before a request in a value", get(`X:\n\n${HIDDEN}`), malformed],
    ["all marks of a token in a name", get("!#$%&'*+-.^_`|~: a"), ["GET /a ", NEXT_ANSWER]],
    ["bytes above 127 in a value", get("X: \xe9\xff"), ["GET /a ", NEXT_ANSWER]],
    ["an empty value", get("X:"), ["GET /a ", NEXT_ANSWER]],
  ],
  "request lines": [
    ["empty lines before it", `\r\n\r\n${line("GET /a HTTP/1.1")}`, ["GET /a ", NEXT_ANSWER]],
    ["HTTP/0.9", "GET /a\r\n", malformed],
    ["HTTP/0.9 with a version", line("GET /a HTTP/0.9"), malformed],
    ["HTTP/1.2", line("GET /a HTTP/1.2"), malformed],
    ["HTTP/1.10", line("GET /a HTTP/1.10"), malformed],
    ["HTTP/01.1", line("GET /a HTTP/01.1"), malformed],
    ["HTTP/2.0", line("GET /a HTTP/2.0"), malformed],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", malformed],
    ["a version in lower case", line("GET /a http/1.1"), malformed],
    ["another protocol", line("GET /a ICY/1.1"), malformed],
    ["a space after the version", line("GET /a HTTP/1.1 "), malformed],
    ["a space before the method", line(" GET /a HTTP/1.1"), malformed],
    ["tabs", line("GET\t/a\tHTTP/1.1"), malformed],
    ["a line feed in place of a space", line("GET /a\nHTTP/1.1"), malformed],
    ["a NUL in the target", line("GET /a\x00b HTTP/1.1"), malformed],
    ["a space in the target", line("GET /a b HTTP/1.1"), malformed],
    ["a version in the target", line("GET /a HTTP/1.1/b HTTP/1.1"), malformed],
    ["a byte above 127 in the target", line("GET /\xe9 HTTP/1.1"), malformed],
    ["a method in lower case", line("get /a HTTP/1.1"), malformed],
    ["a method with marks", line("G=E /a HTTP/1.1"), malformed],
    ["no target", line("GET  HTTP/1.1"), malformed],
    ["only a fragment", line("GET #a HTTP/1.1"), malformed],
    ["an asterisk", line("OPTIONS * HTTP/1.1"), malformed],
    ["an authority", line("GET a:80 HTTP/1.1"), malformed],
    ["a URL with another host", line("GET http://b/a HTTP/1.1"), ["GET /a ", NEXT_ANSWER]],
    ["a URL without a path", line("GET http://b HTTP/1.1"), ["GET / ", NEXT_ANSWER]],
    ["a URL of another scheme", line("GET ftp://b/a HTTP/1.1"), malformed],
    ["a URL without a host", line("GET http:///a HTTP/1.1"), malformed],
    ["a URL with a user", line("GET http://u:p@b/a HTTP/1.1"), malformed],
    ["CONNECT", "CONNECT b:80 HTTP/1.1\r\nHost: b:80\r\n\r\n", ["405"]],
  ],
  "fields that change a connection": [
    ["no Host", "GET /a HTTP/1.1\r\nX: a\r\n\r\n", malformed],
    ["two Hosts", get("Host: a"), malformed],
    ["two Hosts that differ in case", get("HOST: b"), malformed],
    [
      "Upgrade to h2c",
      get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"),
      ["GET /a ", NEXT_ANSWER],
      [],
    ],
    ["Upgrade to WebSocket", get("Connection: Upgrade\r\nUpgrade: websocket"), ["GET /a ", NEXT_ANSWER], []],
    [
      "Upgrade with a body",
      post("Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5", "12345"),
      one("12345"),
      [],
    ],
    ["Connection: close", get("Connection: close"), ["GET /a "], ["GET /a "]],
    ["close within a list", get("Connection: X, close"), ["GET /a "], ["GET /a "]],
    ["HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n", ["GET /a "], ["GET /a "]],
    ["HTTP/1.0 with keep-alive", "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", ["GET /a ", NEXT_ANSWER]],
    [
      "Expect with a body that comes at once",
      post("Expect: 100-continue\r\nContent-Length: 5", "12345"),
      ["100", ...one("12345")],
    ],
    ["Expect without a body", get("Expect: 100-continue"), ["GET /a ", NEXT_ANSWER], ["GET /a "]],
    ["another expectation", get("Expect: 200-ok"), ["417"]],
    [
      "an expectation with letters before it",
      post("Expect: y 100-continue\r\nContent-Length: 5", "12345"),
      ["417"],
      ["100", ...one("12345")],
    ],
    ["Proxy-Connection", get("Proxy-Connection: close"), ["GET /a ", NEXT_ANSWER], ["GET /a "]],
    ["two Authorizations", get("Authorization: Bearer a\r\nAuthorization: Bearer b"), ["401"]],
    ["a method in a field", post("X-HTTP-Method-Override: HEAD\r\nContent-Length: 5", "12345"), one("12345")],
  ],
};

/** Bytes that some readers take for blanks, for no byte at all or for another one (in Latin-1, Unicode or EBCDIC). */
const oddBytes = [0x00, 0x01, 0x08, 0x0b, 0x0c, 0x0e, 0x1c, 0x1f, 0x7f, 0x80, 0x85, 0xa0, 0xad, 0xff];

/** Each of them at each place around `chunked` and its colon. */
const byteRows: readonly Row[] = oddBytes.flatMap((byte): Row[] => {
  const sign = String.fromCharCode(byte);
  const hex = byte.toString(16).padStart(2, "0");
  const inValue = byte > 127 ? unsupported : malformed;
  return [
    [`0x${hex} before the value`, post(`Transfer-Encoding:${sign}chunked`, "0\r\n\r\n"), inValue],
    [`0x${hex} after the value`, post(`Transfer-Encoding: chunked${sign}`, "0\r\n\r\n"), inValue],
    [`0x${hex} before the colon`, post(`Transfer-Encoding${sign}: chunked`, "0\r\n\r\n"), malformed],
    [`0x${hex} before the name`, post(`X: a\r\n${sign}Transfer-Encoding: chunked`, "0\r\n\r\n"), malformed],
  ];
});

export const smugglingCases: readonly SmugglingCase[] = Object.entries({
  ...rows,
  "bytes around Transfer-Encoding": byteRows,
}).flatMap(([technique, each]) =>
  each.map(([name, bytes, answers, node]) => ({ technique, name, bytes, answers, ...(node && { node }) })),
);

/**
 * A server of S3 in memory, written from the documentation of its interface and not from our client: it checks
 * signatures, checksums and conditions, and answers as S3 does. Behaviours of other stores are options.
 */
import { createHash, createHmac } from "node:crypto";
import type { HttpAnswer, HttpRequest, HttpSend } from "../../../src/replication/objects/s3/http.ts";

export interface FakeS3Options {
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Required of each request if set. */
  readonly sessionToken?: string;
  readonly style?: "path" | "virtual";
  /** What a condition of a PUT does. */
  readonly putCondition?: "kept" | "ignored" | "refused";
  /** New objects need a Content-MD5, as in buckets with Object Lock. */
  readonly isMd5Required?: boolean;
  /** It takes any body that has the signed checksum in its header only. */
  readonly ignoresSignedBodies?: boolean;
  /** What a condition of an upload in parts does. `for-whole`: it is kept only where the name has an object that was sent whole. */
  readonly uploadCondition?: "kept" | "for-whole" | "ignored" | "refused";
  readonly keysPerPage?: number;
  /** The smallest part that is not the last; 5 MiB if absent. */
  readonly partBytesMin?: number;
}

export interface FakeRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface FakeAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

interface StoredObject {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly headers: Record<string, string>;
}

interface PendingUpload {
  readonly key: string;
  readonly headers: Record<string, string>;
  readonly parts: Map<number, { readonly bytes: Buffer; readonly etag: string }>;
}

export class FakeS3 {
  readonly options: FakeS3Options;
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, PendingUpload>();
  readonly requests: FakeRequest[] = [];
  /** The secret that requests must be signed with; tests change it as an operator does. */
  sessionToken: string | undefined;
  #uploadCount = 0;

  constructor(options: FakeS3Options) {
    this.options = options;
    this.sessionToken = options.sessionToken;
  }

  /** The transport of a client that reaches this server without a socket. */
  readonly send: HttpSend = async (request) => answerOf(this.handle(await received(request)));

  handle(request: FakeRequest): FakeAnswer {
    this.requests.push(request);
    const refusal = this.#refusal(request);
    if (refusal !== undefined) return refusal;
    const { style = "path", bucket } = this.options;
    const path = decodeURIComponent(request.url.pathname.slice(1));
    const hasBucket = style === "path" ? path.split("/")[0] === bucket : request.url.hostname.startsWith(`${bucket}.`);
    if (!hasBucket) return problem(404, "NoSuchBucket");
    const key = style === "path" ? path.slice(bucket.length + 1) : path;
    const query = request.url.searchParams;
    if (key === "") return query.has("delete") ? this.#removeAll(request) : this.#list(query);
    const uploadId = query.get("uploadId");
    switch (request.method) {
      case "PUT":
        return uploadId === null ? this.#put(key, request) : this.#putPart(uploadId, query, request);
      case "POST":
        return query.has("uploads") ? this.#begin(key, request) : this.#complete(key, uploadId ?? "", request);
      case "DELETE":
        return this.uploads.delete(uploadId ?? "") ? answer(204) : problem(404, "NoSuchUpload");
      default:
        return this.#get(key, request);
    }
  }

  #refusal({ method, url, headers, body }: FakeRequest): FakeAnswer | undefined {
    const { accessKeyId, secretAccessKey, region } = this.options;
    if (headers["x-amz-security-token"] !== this.sessionToken)
      return problem(400, headers["x-amz-security-token"] === undefined ? "AccessDenied" : "ExpiredToken");
    const [, id, date = "", scope, signed = "", signature] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
        headers["authorization"] ?? "",
      ) ?? [];
    if (id !== accessKeyId) return problem(403, "InvalidAccessKeyId");
    if (scope !== `${region}/s3/aws4_request`) return problem(400, "AuthorizationHeaderMalformed");
    const bodyHash = headers["x-amz-content-sha256"];
    const isSigned = bodyHash === createHash("sha256").update(body).digest("hex");
    if (!isSigned && this.options.ignoresSignedBodies !== true) return problem(400, "XAmzContentSHA256Mismatch");
    const names = signed.split(";");
    // A header of S3 that is not signed could be changed on its way.
    for (const name of ["host", ...Object.keys(headers).filter((each) => each.startsWith("x-amz-"))])
      if (!names.includes(name)) return problem(403, "AccessDenied");
    const query = url.search
      .slice(1)
      .split("&")
      .filter((each) => each !== "")
      .sort();
    const canonical = [
      method,
      url.pathname,
      query.map((each) => (each.includes("=") ? each : `${each}=`)).join("&"),
      ...names.map((name) => `${name}:${(name === "host" ? url.host : (headers[name] ?? "")).trim()}`),
      "",
      signed,
      bodyHash,
    ].join("\n");
    const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
    const key = [region, "s3", "aws4_request"].reduce(hmac, hmac(`AWS4${secretAccessKey}`, date));
    const hash = createHash("sha256").update(canonical).digest("hex");
    const expected = hmac(key, ["AWS4-HMAC-SHA256", headers["x-amz-date"], `${date}/${scope}`, hash].join("\n"));
    if (expected.toString("hex") !== signature) return problem(403, "SignatureDoesNotMatch");
    const md5 = headers["content-md5"];
    if (md5 !== undefined && md5 !== createHash("md5").update(body).digest("base64")) return problem(400, "BadDigest");
    if (method === "PUT" && md5 === undefined && this.options.isMd5Required === true)
      return problem(400, "InvalidRequest");
    return undefined;
  }

  #put(key: string, { headers, body }: FakeRequest): FakeAnswer {
    const { putCondition = "kept" } = this.options;
    const isConditional = headers["if-none-match"] === "*";
    if (isConditional && putCondition === "refused") return problem(501, "NotImplemented");
    if (isConditional && putCondition === "kept" && this.objects.has(key)) return problem(412, "PreconditionFailed");
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    this.objects.set(key, { bytes: body, etag, headers: kept(headers) });
    return answer(200, { etag });
  }

  #begin(key: string, { headers }: FakeRequest): FakeAnswer {
    this.#uploadCount += 1;
    const id = `upload.${this.#uploadCount}+/=`;
    this.uploads.set(id, { key, headers: kept(headers), parts: new Map() });
    return xml(
      `<InitiateMultipartUploadResult><Key>${inXml(key)}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    );
  }

  #putPart(id: string, query: URLSearchParams, { body }: FakeRequest): FakeAnswer {
    const upload = this.uploads.get(id);
    if (upload === undefined) return problem(404, "NoSuchUpload");
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    upload.parts.set(Number(query.get("partNumber")), { bytes: body, etag });
    return answer(200, { etag });
  }

  #complete(key: string, id: string, { headers, body }: FakeRequest): FakeAnswer {
    const { uploadCondition = "kept", partBytesMin = 5 * 1024 * 1024 } = this.options;
    const upload = this.uploads.get(id);
    if (upload === undefined || upload.key !== key) return problem(404, "NoSuchUpload");
    const isConditional = headers["if-none-match"] === "*";
    if (isConditional && uploadCondition === "refused") return problem(501, "NotImplemented");
    const former = this.objects.get(key);
    // Only the checksums of uploads have a hyphen.
    const isKept =
      uploadCondition === "kept" || (uploadCondition === "for-whole" && former?.etag.includes("-") !== true);
    if (isConditional && isKept && former !== undefined) return problem(412, "PreconditionFailed");
    const parts = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&#34;([0-9a-f]+)&#34;<\/ETag>/g)];
    const pieces: Buffer[] = [];
    for (const [index, [, number, etag]] of parts.entries()) {
      const part = upload.parts.get(Number(number));
      if (part === undefined || part.etag !== `"${etag}"`) return problem(400, "InvalidPart");
      if (index < parts.length - 1 && part.bytes.length < partBytesMin) return problem(400, "EntityTooSmall");
      pieces.push(part.bytes);
    }
    if (pieces.length === 0) return problem(400, "MalformedXML");
    this.uploads.delete(id);
    const bytes = Buffer.concat(pieces);
    const etag = `"${createHash("md5").update(bytes).digest("hex")}-${pieces.length}"`;
    this.objects.set(key, { bytes, etag, headers: upload.headers });
    return xml(`<CompleteMultipartUploadResult><ETag>${inXml(etag)}</ETag></CompleteMultipartUploadResult>`);
  }

  #get(key: string, { method, headers }: FakeRequest): FakeAnswer {
    const object = this.objects.get(key);
    if (object === undefined) return method === "HEAD" ? answer(404) : problem(404, "NoSuchKey");
    const { bytes, etag } = object;
    const length = String(bytes.length);
    if (method === "HEAD") return answer(200, { ...object.headers, etag, "content-length": length });
    const [, first = "", last = ""] = /^bytes=(\d+)-(\d+)$/.exec(headers["range"] ?? "") ?? [];
    if (first === "")
      return { status: 200, headers: { ...object.headers, etag, "content-length": length }, body: bytes };
    if (Number(first) >= bytes.length) return problem(416, "InvalidRange");
    const body = bytes.subarray(Number(first), Number(last) + 1);
    const range = `bytes ${first}-${Number(first) + body.length - 1}/${length}`;
    return {
      status: 206,
      headers: { ...object.headers, etag, "content-range": range, "content-length": String(body.length) },
      body,
    };
  }

  #list(query: URLSearchParams): FakeAnswer {
    const prefix = query.get("prefix") ?? "";
    const after = query.get("continuation-token")?.replace(/^token:/, "") ?? query.get("start-after") ?? "";
    const max = Math.min(Number(query.get("max-keys") ?? "1000"), this.options.keysPerPage ?? 1_000);
    const order = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && order(key, after) > 0).sort(order);
    const page = keys.slice(0, max);
    const isTruncated = keys.length > max;
    const contents = page.map((key) => {
      const object = this.objects.get(key);
      return `<Contents><Key>${inXml(key)}</Key><ETag>${inXml(object?.etag ?? "")}</ETag><Size>${object?.bytes.length}</Size></Contents>`;
    });
    const next = isTruncated ? `<NextContinuationToken>token:${inXml(page.at(-1) ?? "")}</NextContinuationToken>` : "";
    return xml(
      `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${this.options.bucket}</Name>` +
        `<Prefix>${inXml(prefix)}</Prefix><KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>` +
        `${next}${contents.join("\n")}</ListBucketResult>`,
    );
  }

  #removeAll({ headers, body }: FakeRequest): FakeAnswer {
    if (headers["content-md5"] === undefined) return problem(400, "InvalidRequest");
    for (const [, key = ""] of body.toString().matchAll(/<Key>([^<]*)<\/Key>/g))
      this.objects.delete(key.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))));
    return xml('<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></DeleteResult>');
  }
}

/** The request as a server has it after the last byte. */
export async function received({ method, url, headers, body }: HttpRequest): Promise<FakeRequest> {
  const pieces: Buffer[] = [];
  if (body !== undefined) for await (const piece of body) pieces.push(piece);
  return { method, url: new URL(url), headers, body: Buffer.concat(pieces) };
}

/** An answer as the client of a transport receives it, in two pieces. */
export function answerOf({ status, headers, body }: FakeAnswer): HttpAnswer {
  const pieces = async function* (): AsyncIterable<Uint8Array> {
    const half = body.length >> 1;
    if (half > 0) yield body.subarray(0, half);
    if (body.length > 0) yield body.subarray(half);
  };
  return { status, headers, body: pieces() };
}

export function problem(status: number, code: string, headers: Record<string, string> = {}): FakeAnswer {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>secret &amp; text</Message></Error>`;
  return { status, headers, body: Buffer.from(text) };
}

function answer(status: number, headers: Record<string, string> = {}): FakeAnswer {
  return { status, headers, body: Buffer.alloc(0) };
}

function xml(text: string): FakeAnswer {
  return { status: 200, headers: {}, body: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`) };
}

/** What S3 stores of the headers of a new object. */
function kept(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => /^x-amz-(?:meta|server-side-encryption)/.test(name)),
  );
}

function inXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

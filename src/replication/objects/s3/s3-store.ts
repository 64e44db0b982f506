/**
 * A copy in a bucket of S3, or of a store with its interface.
 *
 * (1) A new object is sent with `If-None-Match: *`, so the store itself refuses a name that is taken. Whether it does
 *     is tried before the first one, because a store that ignores the header would overwrite objects.
 * (2) Each call of `putNew` marks its object. A store that says that the name is taken is asked for the mark of the
 *     object: a network that sends a request twice makes no difference.
 * (3) Only NoSuchKey means that an object does not exist: any other 404 may come from another server.
 * (4) Names of a list are believed if they are in order, after what was asked, and below the prefix. Keys that larder
 *     cannot have made are left out.
 */
import { createHash } from "node:crypto";
import { assert } from "../../../kernel/assert.ts";
import type { Random } from "../../../kernel/random.ts";
import { printAddress, type S3Address } from "../address.ts";
import { assertObjectName, assertObjectRange, isObjectName, OBJECTS_PER_CALL_MAX } from "../object-name.ts";
import {
  contentOf,
  type ListedObject,
  type ObjectContent,
  type ObjectStore,
  ObjectStoreFailure,
  readContent,
} from "../object-store.ts";
import { giveMemory, takeMemory } from "../read-window.ts";
import { damaged, errorCode, failureOf, failureOfCode, readDeleteErrors, readList, saysOtherBody } from "./answers.ts";
import type { Received } from "./http.ts";
import { type Upload, type UploadOutcome, type UploadServices, uploadInParts } from "./multipart.ts";
import { EMPTY_HASH, type Payload, payloadOf, S3Client, type S3ClientOptions, type S3Request } from "./s3-client.ts";
import { escapeXml } from "./xml.ts";

export interface S3StoreOptions extends S3ClientOptions {
  readonly random: Random;
  /** Closes the connections of `send`. */
  readonly closeConnections?: () => Promise<void>;
  /** For tests. */
  readonly sizes?: UploadSizes;
}

export interface UploadSizes {
  /** Above this an object is sent in parts. */
  readonly singleBytesMax: number;
  /** At least 5 MiB for S3. */
  readonly partBytesMin: number;
}

/** One part is in memory at a time. */
const SIZES: UploadSizes = { singleBytesMax: 16 * 1024 * 1024, partBytesMin: 8 * 1024 * 1024 };
/** What S3 accepts in one request: for stores whose uploads in parts have no condition. */
const WHOLE_BYTES_MAX = 5 * 1024 ** 3;
const READ_BYTES = 1024 * 1024;
/** A thousand keys of 1,024 bytes, each of them an entity, and what is beside them. */
const LIST_BYTES_MAX = 16 * 1024 * 1024;
/** Pages in a row that have only keys of others. */
const FOREIGN_PAGES_MAX = 100;
/** Names of the objects that try conditions. Those that a crash has left are in no list. */
const CHECK = "larder-check-";
const MARK = "x-amz-meta-larder-mark";
const NO_CONDITION_REMEDY =
  "use a store with conditional writes (If-None-Match), or add conditional=no to the address and never let two servers " +
  "write to one prefix";

export class S3Store implements ObjectStore {
  readonly #options: S3StoreOptions;
  readonly #address: S3Address;
  readonly #client: S3Client;
  /** Whether the store is known to keep (1). */
  #isChecked = false;
  /** Whether it was asked if the store compares signed bodies. */
  #areBodiesAsked = false;
  /** The same as (1) of uploads in parts, once it was asked. */
  #uploadsAreConditional: boolean | undefined;

  constructor(options: S3StoreOptions) {
    this.#options = options;
    this.#address = options.address;
    this.#client = new S3Client(options);
  }

  /**
   * Writes an object twice, under a name of its own, and removes it. Rejects with an `ObjectStoreFailure` of the kind
   * `refused` if the store has no conditional writes and the address does not say so. The first `putNew` does it if it
   * was not done. keeps (1)
   */
  async checkConditionalWrites(): Promise<void> {
    if (!this.#address.isConditional || this.#isChecked) return;
    const name = `${CHECK}${this.#drawMark()}`;
    const mark = this.#drawMark();
    try {
      const first = await this.#sendCheck(name, mark);
      if (first.status === 501 || errorCode(first) === "NotImplemented")
        throw this.#unconditional(name, "has no conditional writes");
      // 412: a network that sent the request twice, or something between.
      if (first.status === 412) await this.#ownerOf(name, mark);
      else if (!isGood(first)) throw failureOf(first, this.#whatOf(name), this.#nowMs());
      const second = await this.#sendCheck(name, this.#drawMark());
      if (isGood(second)) throw this.#unconditional(name, "ignores conditions of writes");
      if (second.status !== 412) throw failureOf(second, this.#whatOf(name), this.#nowMs());
    } finally {
      await this.#removeCheck(name);
    }
    this.#isChecked = true;
  }

  async putNew(name: string, content: ObjectContent): Promise<"stored" | "exists"> {
    assertObjectName(name);
    await this.checkConditionalWrites();
    await this.#checkSignedBodies();
    if (!this.#address.isConditional && (await this.#isThere(name))) return "exists";
    const mark = this.#drawMark();
    if (content.bytes > this.#sizes.singleBytesMax && (await this.#mayUploadInParts())) {
      const outcome = await uploadInParts(this.#uploadOf(name, mark), content, this.#services);
      return outcome === "stored" ? outcome : this.#ownerOf(name, mark);
    }
    const what = this.#whatOf(name);
    if (content.bytes > WHOLE_BYTES_MAX)
      throw new ObjectStoreFailure(
        "refused",
        `${what}: an object of ${content.bytes} bytes needs an upload in parts, which has no condition in this store`,
      );
    const bytesInMemoryMax = this.#sizes.singleBytesMax;
    const into = content.bytes <= bytesInMemoryMax ? takeMemory(content.bytes) : undefined;
    const answer = await this.#sendWhole(name, await payloadFrom(content, { bytesInMemoryMax, into }), mark);
    if (isGood(answer)) {
      // Only now nothing of it can wait to be sent any more.
      giveMemory(into);
      return "stored";
    }
    if (answer.status === 412 && this.#address.isConditional) return this.#ownerOf(name, mark);
    throw failureOf(answer, what, this.#nowMs());
  }

  async get(
    name: string,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined> {
    assertObjectRange(name, { start, end });
    const what = this.#whatOf(name);
    // An empty range cannot be asked for, and s3rver takes a last byte 0 for no last byte.
    const wanted = Math.max(2, end - start);
    const answer = await this.#send({
      kind: "get",
      method: "GET",
      key: this.#keyOf(name),
      headers: { range: `bytes=${start}-${start + wanted - 1}` },
      answerBytesMax: wanted,
      what,
    });
    const { status, body } = answer;
    if (status === 404 && errorCode(answer) === "NoSuchKey") return undefined; // keeps (3)
    // The object has no byte at `start`.
    if (status === 416) return Buffer.alloc(0);
    if (status === 206) return checkedRange(answer, { start, wanted, what }).subarray(0, end - start);
    // All of it, because it is empty, or because the store ignores ranges.
    if (status === 200) {
      if (answer.headers["content-length"] !== String(body.length)) throw damaged(what, "its length is not known");
      return body.subarray(start, end);
    }
    throw failureOf(answer, what, this.#nowMs());
  }

  async list(prefix: string, after?: string): Promise<readonly ListedObject[]> {
    const what = `${printAddress(this.#address)}, the list of ${prefix === "" ? "all objects" : prefix}`;
    const keyPrefix = this.#keyOf(prefix);
    const found: ListedObject[] = [];
    let last = after === undefined ? undefined : this.#keyOf(after);
    let token: string | undefined;
    for (let foreignPages = 0; foreignPages < FOREIGN_PAGES_MAX; foreignPages += 1) {
      const answer = await this.#send({
        kind: "list",
        method: "GET",
        query: {
          "list-type": "2",
          "max-keys": String(OBJECTS_PER_CALL_MAX),
          ...(keyPrefix !== "" && { prefix: keyPrefix }),
          ...(last !== undefined && { "start-after": last }),
          ...(token !== undefined && { "continuation-token": token }),
        },
        answerBytesMax: LIST_BYTES_MAX,
        what,
      });
      if (answer.status !== 200) throw failureOf(answer, what, this.#nowMs());
      const { keys, isTruncated, continuationToken } = readList(answer, what);
      for (const { key, bytes } of keys) {
        // keeps (4)
        if (!key.startsWith(keyPrefix)) throw damaged(what, "a key does not have the prefix");
        if (last !== undefined && Buffer.compare(Buffer.from(last), Buffer.from(key)) >= 0)
          throw damaged(what, "its keys are not in the order of their bytes");
        last = key;
        const name = key.slice(this.#keyOf("").length);
        if (!isObjectName(name) || name.startsWith(CHECK)) continue;
        foreignPages = -1;
        if (found.length < OBJECTS_PER_CALL_MAX) found.push({ name, bytes });
      }
      if (!isTruncated || found.length >= OBJECTS_PER_CALL_MAX) return found;
      if (keys.length === 0) throw damaged(what, "it has no key, and more follow");
      token = continuationToken;
    }
    throw damaged(what, `it has more than ${FOREIGN_PAGES_MAX} pages without an object of larder`);
  }

  async remove(names: readonly string[]): Promise<void> {
    assert(names.length <= OBJECTS_PER_CALL_MAX, "few objects are removed at once");
    for (const name of names) assertObjectName(name);
    if (names.length === 0) return;
    const what = `${printAddress(this.#address)}, the removal of ${names.length === 1 ? names[0] : `${names.length} objects`}`;
    const objects = names.map((name) => `<Object><Key>${escapeXml(this.#keyOf(name))}</Key></Object>`);
    const body = `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${objects.join("")}<Quiet>true</Quiet></Delete>`;
    const answer = await this.#send({
      kind: "delete",
      method: "POST",
      query: { delete: "" },
      payload: payloadOf(Buffer.from(body)),
      answerBytesMax: LIST_BYTES_MAX,
      what,
    });
    if (answer.status !== 200) throw failureOf(answer, what, this.#nowMs());
    const [code] = readDeleteErrors(answer, what);
    if (code !== undefined) throw failureOfCode(code, what);
  }

  async close(): Promise<void> {
    await this.#options.closeConnections?.();
  }

  get #sizes(): UploadSizes {
    return this.#options.sizes ?? SIZES;
  }

  get #services(): UploadServices {
    return { client: this.#client, partBytesMin: this.#sizes.partBytesMin, nowMs: () => this.#nowMs() };
  }

  #nowMs(): number {
    return this.#options.clock.nowMs();
  }

  #send(request: S3Request): Promise<Received> {
    return this.#client.send(request);
  }

  #sendWhole(name: string, payload: Payload, mark: string): Promise<Received> {
    const { key, what, headers, condition } = this.#uploadOf(name, mark);
    return this.#send({ kind: "put", method: "PUT", key, headers: { ...headers, ...condition }, payload, what });
  }

  #uploadOf(name: string, mark: string): Upload {
    const { encryption, isConditional } = this.#address;
    return {
      key: this.#keyOf(name),
      what: this.#whatOf(name),
      headers: {
        [MARK]: mark,
        ...(encryption !== undefined && { "x-amz-server-side-encryption": encryption.algorithm }),
        ...(encryption?.keyId !== undefined && { "x-amz-server-side-encryption-aws-kms-key-id": encryption.keyId }),
      },
      condition: isConditional ? { "if-none-match": "*" } : {},
    };
  }

  /** Tries, without TLS, whether the store refuses a body that is not the signed one. If it does not say so, objects have an MD5. */
  async #checkSignedBodies(): Promise<void> {
    if (this.#areBodiesAsked || this.#address.endpoint.startsWith("https:")) return;
    this.#areBodiesAsked = true;
    const name = `${CHECK}${this.#drawMark()}`;
    try {
      const payload = { ...payloadOf(Buffer.from("larder")), hash: EMPTY_HASH };
      const answer = await this.#sendWhole(name, payload, this.#drawMark());
      if (saysOtherBody(answer)) this.#client.trustSignedBodies();
      else await this.#removeCheck(name);
    } catch (fault) {
      // The next request has the same failure, or none.
      if (!(fault instanceof ObjectStoreFailure)) throw fault;
    }
  }

  /** Whose object has the name that is taken. keeps (2) */
  async #ownerOf(name: string, mark: string): Promise<"stored" | "exists"> {
    const what = this.#whatOf(name);
    const answer = await this.#send({ kind: "get", method: "HEAD", key: this.#keyOf(name), what });
    if (isGood(answer)) return answer.headers[MARK] === mark ? "stored" : "exists";
    // It was removed meanwhile, or the answer was not that of the store.
    if (answer.status === 404)
      throw new ObjectStoreFailure("unavailable", `${what}: the store refused the name and does not have the object`);
    throw failureOf(answer, what, this.#nowMs());
  }

  /** For stores without conditions. Not by HEAD, whose 404 has no code: keeps (3), or an object would be overwritten. */
  async #isThere(name: string): Promise<boolean> {
    return (await this.get(name, { start: 0, end: 1 })) !== undefined;
  }

  /**
   * Whether an upload in parts keeps (1): tried with two small ones of one name. A whole object as the first one would
   * not do: moto refuses uploads onto that, and overwrites an object that was uploaded in parts.
   */
  async #mayUploadInParts(): Promise<boolean> {
    if (!this.#address.isConditional) return true;
    if (this.#uploadsAreConditional !== undefined) return this.#uploadsAreConditional;
    const name = `${CHECK}${this.#drawMark()}`;
    const content = contentOf(Buffer.from("larder"));
    const upload = (): Promise<UploadOutcome> =>
      uploadInParts(this.#uploadOf(name, this.#drawMark()), content, this.#services);
    try {
      await upload();
      this.#uploadsAreConditional = (await upload()) === "exists";
    } catch (fault) {
      // 501 and the like: the store does not know the condition, or no uploads in parts.
      if (!(fault instanceof ObjectStoreFailure) || fault.kind !== "refused") throw fault;
      this.#uploadsAreConditional = false;
    } finally {
      await this.#removeCheck(name);
    }
    return this.#uploadsAreConditional;
  }

  #sendCheck(name: string, mark: string): Promise<Received> {
    return this.#sendWhole(name, payloadOf(Buffer.from("larder")), mark);
  }

  #unconditional(name: string, why: string): ObjectStoreFailure {
    return new ObjectStoreFailure("refused", `${this.#whatOf(name)}: the store ${why}: ${NO_CONDITION_REMEDY}`);
  }

  /** Credentials may have no right to remove objects: then some bytes stay. */
  async #removeCheck(name: string): Promise<void> {
    try {
      await this.remove([name]);
    } catch (fault) {
      if (!(fault instanceof ObjectStoreFailure)) throw fault;
    }
  }

  #keyOf(name: string): string {
    const { prefix } = this.#address;
    return prefix === "" ? name : `${prefix}/${name}`;
  }

  #whatOf(name: string): string {
    return `${printAddress(this.#address)}, ${name}`;
  }

  #drawMark(): string {
    const word = (): string =>
      this.#options.random
        .below(2 ** 32)
        .toString(16)
        .padStart(8, "0");
    return `${word()}${word()}`;
  }
}

interface PayloadMemory {
  readonly bytesInMemoryMax: number;
  /** For a small content; absent: memory of its own. */
  readonly into: Buffer | undefined;
}

function isGood({ status }: Received): boolean {
  return status >= 200 && status < 300;
}

/** A small content in memory; a large one is read to be sent, and once before if its checksum is not known. */
async function payloadFrom(content: ObjectContent, { bytesInMemoryMax, into }: PayloadMemory): Promise<Payload> {
  const { bytes, sha256 } = content;
  if (bytes <= bytesInMemoryMax)
    return payloadOf(await readContent(content, { start: 0, end: bytes, ...(into !== undefined && { into }) }), sha256);
  const pieces = async function* (): AsyncIterable<Buffer> {
    for (let start = 0; start < bytes; start += READ_BYTES)
      yield await readContent(content, { start, end: Math.min(bytes, start + READ_BYTES) });
  };
  if (sha256 !== undefined) return { bytes, hash: sha256, pieces };
  const hash = createHash("sha256");
  for await (const piece of pieces()) hash.update(piece);
  return { bytes, hash: hash.digest("hex"), pieces };
}

/** The bytes of a 206, if they are those that were asked for. */
function checkedRange(
  { headers, body }: Received,
  { start, wanted, what }: { start: number; wanted: number; what: string },
): Buffer {
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(headers["content-range"] ?? "");
  if (match === null) throw damaged(what, "it has no valid Content-Range");
  const [first, last, total] = [Number(match[1]), Number(match[2]), Number(match[3])];
  // Fewer bytes than were asked for are the end of the object, and nothing else.
  const isWhole = last === start + wanted - 1 || (last < start + wanted - 1 && total === last + 1);
  if (first !== start || last < first || !isWhole) throw damaged(what, "it has another range");
  if (body.length < last - first + 1)
    throw new ObjectStoreFailure("unavailable", `${what}: the answer ends after ${body.length} bytes`);
  if (body.length > last - first + 1) throw damaged(what, "it is longer than its range");
  return body;
}

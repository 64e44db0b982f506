/**
 * A digest of a value, or of all keys, that is equal if the data are equal:
 * that of Redis' DEBUG DIGEST and DIGEST-VALUE, bit for bit, so that servers can
 * be compared.
 *
 *     add   digest ^= SHA-1(part)                  order does not matter
 *     mix   add, then digest = SHA-1(digest)       order matters
 *
 * A value mixes in its type, then mixes or adds its elements; a pair is mixed
 * into a separate digest, which is added. The existence of an expiry is added, not its time.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { SHA1_BYTES, sha1 } from "../../kernel/checksum/sha1.ts";
import { textOfNode } from "../json/print.ts";
import type { Keyspace } from "../keyspace.ts";
import { doubleOfRedis70 } from "../structures/numbers/redis-double.ts";
import type { Dumped } from "../structures/rdb/payload.ts";
import { dumpedOf } from "./dumped-values.ts";
import { JsonValue } from "./json.ts";
import { SearchDefinition } from "./search-definition.ts";
import type { Value } from "./table.ts";

/** Redis' numbers of types. */
const TYPE_NUMBERS: Readonly<Record<Dumped["kind"], number>> = {
  string: 0,
  list: 1,
  set: 2,
  "sorted set": 3,
  hash: 4,
  stream: 6,
};

/** Redis' number for all types of modules, including documents; of search indexes too. */
const MODULE_TYPE_NUMBER = 5;

class Digest {
  readonly #bytes = Buffer.alloc(SHA1_BYTES);

  add(part: Uint8Array | Bytes): void {
    const hash = sha1(part);
    for (let i = 0; i < SHA1_BYTES; i += 1) (this.#bytes[i] as number) ^= hash[i] as number;
  }

  mix(part: Uint8Array | Bytes): void {
    this.add(part);
    sha1(this.#bytes).copy(this.#bytes);
  }

  /** As Redis mixes a number: four bytes, big-endian. */
  mixNumber(number: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(number);
    this.mix(bytes);
  }

  /** Adds a separately mixed digest. */
  addDigest(other: Digest): void {
    this.add(other.#bytes);
  }

  addPair(one: Bytes, other: Bytes): void {
    const pair = new Digest();
    pair.mix(one);
    pair.mix(other);
    this.addDigest(pair);
  }

  toString(): string {
    return this.#bytes.toString("hex");
  }
}

/** Forty hexadecimal digits; all zero without a value. */
export function digestOfValue(value: Value | undefined, options: { readonly expires: boolean }): string {
  const digest = new Digest();
  if (value !== undefined) mixValue(digest, value, options);
  return digest.toString();
}

/** The same for all keys; all zero for an empty database. */
export function digestOfKeys({ entries, expiries }: Keyspace): string {
  const all = new Digest();
  // The number of the database.
  if (entries.size > 0) all.mixNumber(0);
  for (let slot = 0; slot < entries.size; slot += 1) {
    const key = entries.keyAt(slot);
    const digest = new Digest();
    digest.mix(key);
    mixValue(digest, entries.valueAt(slot), { expires: expiries.get(key) !== undefined });
    all.addDigest(digest);
  }
  return all.toString();
}

function mixValue(digest: Digest, value: Value, { expires }: { readonly expires: boolean }): void {
  if (value instanceof JsonValue) {
    digest.mixNumber(MODULE_TYPE_NUMBER);
    digest.mix(textOfNode(value.root));
    if (expires) digest.add("!!expire!!");
    return;
  }
  if (value instanceof SearchDefinition) {
    digest.mixNumber(MODULE_TYPE_NUMBER);
    digest.mix(JSON.stringify(value.definition));
    return;
  }
  const dumped = dumpedOf(value);
  digest.mixNumber(TYPE_NUMBERS[dumped.kind]);
  switch (dumped.kind) {
    case "string":
      digest.mix(dumped.bytes);
      break;
    case "list":
      for (const element of dumped.elements) digest.mix(element);
      break;
    case "set":
      for (const member of dumped.members) digest.add(member);
      break;
    case "sorted set":
      for (const [index, member] of dumped.members.entries())
        digest.addPair(member, doubleOfRedis70(dumped.scores[index] as number));
      break;
    case "hash":
      for (const [index, field] of dumped.fields.entries()) digest.addPair(field, dumped.values[index] as Bytes);
      break;
    case "stream":
      for (const { ms, seq, names, values } of dumped.entries) {
        digest.mix(`${ms}.${seq}`);
        for (const [index, name] of names.entries()) {
          digest.mix(name);
          digest.mix(values[index] as Bytes);
        }
      }
      break;
    default:
      dumped satisfies never;
  }
  if (expires) digest.add("!!expire!!");
}

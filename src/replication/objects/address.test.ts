import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidAddress, parseAddress, printAddress } from "./address.ts";

const setting = "--replicate";

const amazon = {
  kind: "s3",
  bucket: "shop-copy",
  prefix: "",
  endpoint: "https://s3.us-east-1.amazonaws.com",
  region: "us-east-1",
  style: "virtual",
  encryption: undefined,
  isConditional: true,
};
const local = { ...amazon, endpoint: "http://127.0.0.1:9000", style: "path" };

const addresses: readonly [string, Readonly<Record<string, string>>, object][] = [
  ["s3://shop-copy", {}, amazon],
  ["s3://shop-copy/", {}, amazon],
  ["S3://shop-copy/a/b%20c/", {}, { ...amazon, prefix: "a/b c" }],
  ["s3://shop.copy", {}, { ...amazon, bucket: "shop.copy", style: "path" }],
  ["s3://shop-copy?style=path", {}, { ...amazon, style: "path" }],
  [
    "s3://shop-copy?region=cn-north-1",
    {},
    { ...amazon, region: "cn-north-1", endpoint: "https://s3.cn-north-1.amazonaws.com.cn" },
  ],
  [
    "s3://shop-copy",
    { AWS_REGION: "eu-west-1", AWS_DEFAULT_REGION: "eu-west-2" },
    { ...amazon, region: "eu-west-1", endpoint: "https://s3.eu-west-1.amazonaws.com" },
  ],
  [
    "s3://shop-copy",
    { AWS_REGION: "", AWS_DEFAULT_REGION: "eu-west-2" },
    { ...amazon, region: "eu-west-2", endpoint: "https://s3.eu-west-2.amazonaws.com" },
  ],
  ["s3://shop-copy?endpoint=http://127.0.0.1:9000/", { AWS_ENDPOINT_URL_S3: "https://other" }, local],
  ["s3://shop-copy", { AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9000", AWS_ENDPOINT_URL: "https://other" }, local],
  ["s3://shop-copy", { AWS_ENDPOINT_URL: "http://127.0.0.1:9000" }, local],
  ["s3://Old_Bucket?endpoint=http%3A%2F%2F127.0.0.1%3A9000", {}, { ...local, bucket: "Old_Bucket" }],
  [
    "s3://shop-copy?endpoint=https://store.example/storage/v1/s3&style=virtual&region=auto",
    {},
    { ...amazon, endpoint: "https://store.example/storage/v1/s3", region: "auto" },
  ],
  ["s3://shop-copy?sse=AES256", {}, { ...amazon, encryption: { algorithm: "AES256", keyId: undefined } }],
  [
    "s3://shop-copy?sse=aws:kms&kms-key-id=arn:aws:kms:eu-west-1:1:key/2&conditional=no",
    {},
    {
      ...amazon,
      encryption: { algorithm: "aws:kms", keyId: "arn:aws:kms:eu-west-1:1:key/2" },
      isConditional: false,
    },
  ],
  ["s3://shop-copy?conditional=yes", {}, amazon],
  ["file:///other/disk", {}, { kind: "file", directory: "/other/disk" }],
  ["file:///other/a%20disk/", {}, { kind: "file", directory: "/other/a disk" }],
  ["file://localhost/other", {}, { kind: "file", directory: "/other" }],
];

test("an address names a bucket with its endpoint, or a directory", () => {
  for (const [text, environment, expected] of addresses)
    assert.deepEqual(parseAddress(text, { setting, environment }), expected, text);
});

const invalid: readonly [string, RegExp][] = [
  [
    "",
    /^--replicate must begin with s3:\/\/ or file:\/\/, such as s3:\/\/bucket\/prefix or file:\/\/\/absolute\/path$/,
  ],
  ["/other/disk", /^--replicate must begin with s3:\/\/ or file:\/\//],
  ["https://bucket", /^--replicate must begin with/],
  ["sftp://host/path", /^--replicate: sftp:\/\/ is not supported: use s3:\/\/ or a directory/],
  ["SFTP://host", /sftp:\/\/ is not supported/],
  ["file:relative", /^--replicate is not a valid URL/],
  ["file://host/path", /a file:\/\/ address names no host: write three slashes/],
  ["file:///a?b=c", /a file:\/\/ address has no parameters: remove the \?$/],
  ["file:///a#b", /^--replicate must not have a # in it: write it as %23$/],
  ["file:///a%2Fb", /%2F is not allowed/],
  ["file:///a%00b", /%00 is not allowed/],
  ["s3://", /must name a bucket after s3:\/\//],
  ["s3:///prefix", /must name a bucket after s3:\/\//],
  ["s3://UPPER", /must name a bucket after s3:\/\/, of 3 to 63 lower-case letters/],
  ["s3://a..b?style=virtual&endpoint=http://h", /must name a bucket/],
  ["s3://bu cket", /^--replicate is not a valid URL/],
  ["s3://bucket/ä", /^--replicate is not a valid URL: write it as .* and other characters as %20$/],
  ["s3://bucket/%C3%A4", /the prefix must be printable ASCII without \/\/ and without the parts \. and \.\.$/],
  ["s3://bucket/a//b", /the prefix must be printable ASCII/],
  ["s3://bucket/a%2F..%2Fb", /the prefix must be printable ASCII/],
  [`s3://bucket/${"p".repeat(512)}`, /the prefix must have at most 511 bytes$/],
  ["s3://bucket/%zz", /a % that is not followed by two hexadecimal digits$/],
  ["s3://bucket#x", /must not have a #/],
  ["s3://bucket?region=eu west", /not a valid URL/],
  ["s3://bucket?region=eu%20west", /the region must have letters, digits and hyphens only/],
  ["s3://bucket?region=", /the parameter region is empty/],
  ["s3://bucket?region=a&region=b", /has the parameter region twice: remove one of them$/],
  ["s3://bucket?style=dns", /the parameter style must be path or virtual$/],
  ["s3://bucket?sse=none", /the parameter sse must be AES256 or aws:kms$/],
  ["s3://bucket?kms-key-id=1", /the parameter kms-key-id needs sse=aws:kms/],
  ["s3://bucket?sse=AES256&kms-key-id=1", /the parameter kms-key-id needs sse=aws:kms/],
  ["s3://bucket?conditional=maybe", /the parameter conditional must be yes or no$/],
  ["s3://bucket?endpoint=host:9000", /^the parameter endpoint of --replicate must be an http or https URL/],
  ["s3://bucket?endpoint=ftp://host", /must be an http or https URL, such as https:\/\/s3\.example\.com:9000$/],
  ["s3://bucket?endpoint=http://h?x=y", /^the parameter endpoint of --replicate must not have a \?/],
];

test("an invalid address is refused with the setting and the remedy", () => {
  for (const [text, message] of invalid)
    assert.throws(() => parseAddress(text, { setting, environment: {} }), { name: "InvalidAddress", message }, text);
  assert.throws(
    () => parseAddress("s3://bucket", { setting, environment: { AWS_ENDPOINT_URL: "host" } }),
    /^InvalidAddress: AWS_ENDPOINT_URL must be an http or https URL/,
  );
});

test("no error and no printed address has a secret in it", () => {
  for (const text of [
    "s3://AKIA:hunter2@bucket/prefix",
    "s3://hunter2@bucket",
    "file://user:hunter2@host/path",
    "s3://bucket?secret_key=hunter2",
    "s3://bucket?hunter2",
    "s3://bucket?endpoint=https://user:hunter2@host",
    "s3://bucket?region=hunter2!",
    "s3://bucket?conditional=hunter2",
    "sftp://user:hunter2@host",
    "hunter2://x",
  ]) {
    assert.throws(
      () => parseAddress(text, { setting, environment: {} }),
      (fault) => fault instanceof InvalidAddress && !fault.message.includes("hunter2"),
      text,
    );
  }
  const address = parseAddress("s3://bucket/a?sse=aws:kms&kms-key-id=k", { setting, environment: {} });
  assert.equal(printAddress(address), "s3://bucket/a");
  assert.equal(printAddress({ kind: "file", directory: "/a" }), "file:///a");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { identifierRule } from "../../messaging/options/identifiers.ts";
import { destinationOf, splitQuery } from "./destination-target.ts";

const anywhere = () => undefined;

test("C15.destination: stores a destination as published", () => {
  const rows: [path: string, query: string | undefined, destination: string][] = [
    ["https://a.test", undefined, "https://a.test"],
    ["https://a.test/", undefined, "https://a.test/"],
    ["http://a.test:8080/b//c/../d", undefined, "http://a.test:8080/b//c/../d"],
    ["https://a.test/b", "x=1&y=%20&x=2", "https://a.test/b?x=1&y=%20&x=2"],
    ["https://example.com/123/", "asdasd=ooo", "https://example.com/123/?asdasd=ooo"],
    ["https:/a.test/b", "x=1", "https://a.test/b?x=1"],
    ["https://a.test/b", "", "https://a.test/b?"],
    ["https%3A%2F%2Fa.test%2Fb%3F", undefined, "https://a.test/b?"],
    ["my-group", "", "my-group"],
    ["http:/a.test", undefined, "http://a.test"],
    ["HTTPS://a.test/B", undefined, "https://a.test/B"],
    ["https%3A%2F%2Fa.test%2Fb%3Fx%3D1", undefined, "https://a.test/b?x=1"],
    ["https%3A%2F%2Fa.test%2Fb%3Fx%3D1", "y=2", "https://a.test/b?x=1&y=2"],
    ["https%3a%2f%2fa.test", "y=2", "https://a.test?y=2"],
    ["https://a.test/%2F%20", undefined, "https://a.test/%2F%20"],
    ["my-group", undefined, "my-group"],
    ["my-group", "left=over", "my-group"],
    ["my%2Dgroup", undefined, "my-group"],
    ["a.test", undefined, "a.test"],
    ["https%3A%2F%2Fa.test%2F%C3%A9", undefined, "https://a.test/%C3%A9"],
  ];
  for (const [path, query, destination] of rows) {
    assert.equal(destinationOf(path, query, anywhere), destination, `${path}?${query}`);
  }
});

test("C15.destination: refuses an invalid destination and names it", () => {
  const rows: [path: string, text: string][] = [
    ["", "destination is missing: give a URL or the name of a URL group"],
    ["ftp://a.test", 'Invalid destination: "ftp://a.test": a URL starts with http:// or https://'],
    ["mailto:a@b.test", 'Invalid destination: "mailto:a@b.test": a URL starts with http:// or https://'],
    ["http://", 'Invalid destination: "http://": a URL starts with http:// or https://'],
    ["http:///a", 'Invalid destination: "http:///a": a URL starts with http:// or https://'],
    ["https://a:b:c", 'Invalid destination: "https://a:b:c": it is not a URL'],
    [
      "api/llm",
      'Invalid destination: "api/llm": there are no built-in destinations; publish to the URL of the service itself',
    ],
    [
      "a/b",
      `Invalid destination: "a/b": a URL starts with http:// or https://, and the name of a URL group ${identifierRule}`,
    ],
  ];
  for (const [path, text] of rows) {
    assert.throws(() => destinationOf(path, undefined, anywhere), { kind: "bad request", text }, path);
  }
});

test("C15.destination: applies the policy of destinations and reports its text", () => {
  assert.throws(() => destinationOf("http://10.0.0.1/", undefined, (url) => `${url.hostname} is refused`), {
    kind: "bad request",
    text: "Invalid destination: 10.0.0.1 is refused",
  });
});

test("C15, C.options.query: removes our parameters from the query, and leaves the rest unchanged", () => {
  const rows: [query: string, own: string[], token: string | undefined, rest: string][] = [
    ["", [], undefined, ""],
    ["a=1&b=2", [], undefined, "a=1&b=2"],
    ["service-retries=2", ["retries", "2"], undefined, ""],
    ["a=1&upstash-delay=5s&b=%2B&a=+", ["delay", "5s"], undefined, "a=1&b=%2B&a=+"],
    ["service_token=t&a=1", [], "t", "a=1"],
    ["qstash_token=t", [], "t", ""],
    ["upstash_token=t&qstash_token=u&&a", [], "t", "&a"],
    ["service-forward-x-a=b%20c&service-label=a+b", ["forward-x-a", "b c", "label", "a b"], undefined, ""],
    ["service-callback=https%3A%2F%2Fa.test%2F%3Fx%3D1", ["callback", "https://a.test/?x=1"], undefined, ""],
    ["service-header-forward=true", ["header-forward", "true"], undefined, ""],
    ["service%2Dretries=2&%71stash_token=t", ["retries", "2"], "t", ""],
    ["service-label=%C3%A9", ["label", "é"], undefined, ""],
    ["service-label", ["label", ""], undefined, ""],
    // Names that only resemble ours belong to the destination.
    [
      "service_id=1&service-area=2&serviceretries=3&retries=4&service_retries=5",
      [],
      undefined,
      "service_id=1&service-area=2&serviceretries=3&retries=4&service_retries=5",
    ],
    ["%zz=1&stash=2", [], undefined, "%zz=1&stash=2"],
  ];
  for (const [query, own, token, rest] of rows) {
    const { ofDestination: _apart, ...split } = splitQuery(query);
    assert.deepEqual(split, { own, token, rest }, query);
  }
});

test("C15: a destination has a query if any part of it remains, even an empty one", () => {
  const rows: [query: string | undefined, ofDestination: string | undefined][] = [
    [undefined, undefined],
    ["", ""],
    ["a=1", "a=1"],
    ["service-retries=2", undefined],
    ["&service-retries=2", ""],
    ["service_token=t&a=1", "a=1"],
  ];
  for (const [query, ofDestination] of rows) {
    assert.equal(splitQuery(query).ofDestination, ofDestination, String(query));
  }
});

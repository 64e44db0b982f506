import assert from "node:assert/strict";
import { test } from "node:test";
import { classAddress } from "./address-class.ts";
import { type DestinationProfile, parseAllowedDestinations, parseDestinations } from "./destination-policy.ts";

type Verdict = "called" | "refused";

/** Verdicts of public, private and any on a URL with an address as its host. */
const literals: readonly (readonly [string, Verdict, Verdict, Verdict])[] = [
  // Public addresses, and spellings of them.
  ["http://8.8.8.8/", "called", "called", "called"],
  ["https://[2606:4700::1111]/", "called", "called", "called"],
  ["http://[::ffff:8.8.8.8]/", "called", "called", "called"],
  ["http://[64:ff9b::808:808]/", "called", "called", "called"],
  ["http://[2002:808:808::1]/", "called", "called", "called"],
  // Loopback.
  ["http://127.0.0.1/", "refused", "refused", "called"],
  ["http://127.255.255.254/", "refused", "refused", "called"],
  ["http://127.1/", "refused", "refused", "called"],
  ["http://0x7f.1/", "refused", "refused", "called"],
  ["http://2130706433/", "refused", "refused", "called"],
  ["http://017700000001/", "refused", "refused", "called"],
  ["http://0177.0.0.01/", "refused", "refused", "called"],
  ["http://0x7f000001/", "refused", "refused", "called"],
  ["http://１２７.０.０.１/", "refused", "refused", "called"],
  ["http://127。0。0。1/", "refused", "refused", "called"],
  ["http://%31%32%37.0.0.1/", "refused", "refused", "called"],
  ["http://127.0.0.1./", "refused", "refused", "called"],
  ["http://[::1]/", "refused", "refused", "called"],
  ["http://[0:0:0:0:0:0:0:1]/", "refused", "refused", "called"],
  ["http://[::ffff:127.0.0.1]/", "refused", "refused", "called"],
  ["http://[::ffff:7f00:1]/", "refused", "refused", "called"],
  ["http://[64:ff9b::7f00:1]/", "refused", "refused", "called"],
  ["http://[2002:7f00:1::]/", "refused", "refused", "called"],
  ["http://0/", "refused", "refused", "called"],
  ["http://0.0.0.0/", "refused", "refused", "called"],
  ["http://[::]/", "refused", "refused", "called"],
  ["http://localhost/", "refused", "refused", "called"],
  ["http://LOCALHOST./", "refused", "refused", "called"],
  ["http://app.localhost/", "refused", "refused", "called"],
  // Private networks.
  ["http://10.0.0.5/", "refused", "called", "called"],
  ["http://172.16.0.1/", "refused", "called", "called"],
  ["http://172.31.255.255/", "refused", "called", "called"],
  ["http://192.168.1.1/", "refused", "called", "called"],
  ["http://[fc00::1]/", "refused", "called", "called"],
  ["http://[fd12:3456::1]/", "refused", "called", "called"],
  ["http://[::ffff:10.0.0.5]/", "refused", "called", "called"],
  ["http://[64:ff9b::a00:5]/", "refused", "called", "called"],
  ["http://[2002:a00:5::]/", "refused", "called", "called"],
  // Metadata: under no profile.
  ["http://169.254.169.254/", "refused", "refused", "refused"],
  ["http://169.254.170.2/", "refused", "refused", "refused"],
  ["http://0xa9fea9fe/", "refused", "refused", "refused"],
  ["http://2852039166/", "refused", "refused", "refused"],
  ["http://[::ffff:169.254.169.254]/", "refused", "refused", "refused"],
  ["http://[64:ff9b::a9fe:a9fe]/", "refused", "refused", "refused"],
  ["http://[2002:a9fe:a9fe::]/", "refused", "refused", "refused"],
  ["http://[fd00:ec2::254]/", "refused", "refused", "refused"],
  ["http://[fd00:ec2::23]/", "refused", "refused", "refused"],
  ["http://[fd20:ce::254]/", "refused", "refused", "refused"],
  ["http://[fe80::a9fe:a9fe]/", "refused", "refused", "refused"],
  ["http://100.100.100.200/", "refused", "refused", "refused"],
  ["http://168.63.129.16/", "refused", "refused", "refused"],
  // Reserved: carrier-grade NAT, documentation, benchmarks, multicast, reserved, tunnels.
  ["http://100.64.0.1/", "refused", "refused", "refused"],
  ["http://100.127.255.255/", "refused", "refused", "refused"],
  ["http://0.0.0.1/", "refused", "refused", "refused"],
  ["http://192.0.0.192/", "refused", "refused", "refused"],
  ["http://192.0.2.1/", "refused", "refused", "refused"],
  ["http://198.18.0.1/", "refused", "refused", "refused"],
  ["http://203.0.113.9/", "refused", "refused", "refused"],
  ["http://224.0.0.1/", "refused", "refused", "refused"],
  ["http://240.0.0.1/", "refused", "refused", "refused"],
  ["http://255.255.255.255/", "refused", "refused", "refused"],
  ["http://[ff02::1]/", "refused", "refused", "refused"],
  ["http://[fec0::1]/", "refused", "refused", "refused"],
  ["http://[2001:db8::1]/", "refused", "refused", "refused"],
  ["http://[2001:0:7f00:1::]/", "refused", "refused", "refused"],
  ["http://[64:ff9b:1::7f00:1]/", "refused", "refused", "refused"],
  ["http://[::127.0.0.1]/", "refused", "refused", "refused"],
  ["http://[::ffff:0:127.0.0.1]/", "refused", "refused", "refused"],
  ["http://[4000::1]/", "refused", "refused", "refused"],
  ["http://[100::1]/", "refused", "refused", "refused"],
];

test("C-01, C-02, C-03, C-05: judges an address in a URL in every spelling", () => {
  const profiles: readonly DestinationProfile[] = ["public", "private", "any"];
  for (const [text, ...expected] of literals) {
    const actual = profiles.map((profile) => verdict(parseDestinations(profile, []).refusalOf(new URL(text))));
    assert.deepEqual(actual, expected, text);
  }
});

/** Profile, allow-list, host, resolved address, verdict. */
const resolved: readonly (readonly [DestinationProfile, readonly string[], string, string, Verdict])[] = [
  ["public", [], "a.test", "8.8.8.8", "called"],
  ["public", [], "a.test", "10.0.0.1", "refused"],
  ["public", [], "a.test", "::ffff:10.0.0.1", "refused"],
  ["public", [], "a.test", "fe80::1%eth0", "refused"],
  ["public", [], "a.test", "no address", "refused"],
  ["public", ["10.0.0.0/8"], "a.test", "10.0.0.1", "called"],
  ["public", ["10.0.0.0/8"], "a.test", "::ffff:10.0.0.1", "called"],
  ["public", ["10.0.0.0/24"], "a.test", "10.0.1.1", "refused"],
  ["public", ["10.0.0.1"], "a.test", "10.0.0.1", "called"],
  ["public", ["10.0.0.1"], "a.test", "10.0.0.2", "refused"],
  ["public", ["64:ff9b:1::/48"], "a.test", "64:ff9b:1::1", "called"],
  ["public", ["a.test"], "a.test", "127.0.0.1", "called"],
  ["public", ["A.Test"], "a.test", "127.0.0.1", "called"],
  ["public", ["a.test"], "b.a.test", "127.0.0.1", "refused"],
  ["public", ["*.a.test"], "b.a.test", "127.0.0.1", "called"],
  ["public", ["*.a.test"], "c.b.a.test", "127.0.0.1", "called"],
  ["public", ["*.a.test"], "a.test", "127.0.0.1", "refused"],
  ["public", ["*.a.test"], "evila.test", "127.0.0.1", "refused"],
  ["private", ["100.64.0.0/10"], "a.test", "100.64.0.1", "called"],
  // Metadata addresses need their own entry.
  ["any", ["a.test"], "a.test", "169.254.169.254", "refused"],
  ["any", ["*.test"], "a.test", "fd00:ec2::254", "refused"],
  ["any", ["fd00::/8"], "a.test", "fd00:ec2::254", "refused"],
  ["any", ["0.0.0.0/0"], "a.test", "169.254.169.254", "refused"],
  ["any", ["100.64.0.0/10"], "a.test", "100.100.100.200", "refused"],
  ["public", ["169.254.169.254"], "a.test", "169.254.169.254", "called"],
  ["public", ["169.254.0.0/16"], "a.test", "169.254.169.254", "called"],
  ["public", ["fd00:ec2::254"], "a.test", "fd00:ec2::254", "called"],
  ["public", ["fd00:ec2::/64"], "a.test", "fd00:ec2::254", "called"],
];

test("C-04, C-09: judges the resolved address of a name with the allow-list", () => {
  for (const [profile, allowed, host, address, expected] of resolved) {
    const policy = parseDestinations(profile, allowed);
    assert.equal(verdict(policy.refusalOfAddress(address, host)), expected, `${profile} ${allowed} ${host} ${address}`);
  }
});

/** Profile, allow-list, URL, full refusal or undefined. */
const texts: readonly (readonly [DestinationProfile, readonly string[], string, string | undefined])[] = [
  [
    "public",
    [],
    "http://127.0.0.1/",
    "The destination 127.0.0.1 is a loopback address, which --destinations public refuses: set --destinations any or list it in --allow-destination",
  ],
  [
    "public",
    [],
    "http://localhost:3000/",
    "The destination localhost (127.0.0.1) is a loopback address, which --destinations public refuses: set --destinations any or list it in --allow-destination",
  ],
  [
    "public",
    [],
    "http://10.0.0.1/",
    "The destination 10.0.0.1 is a private address, which --destinations public refuses: set --destinations private or list it in --allow-destination",
  ],
  [
    "any",
    [],
    "http://169.254.169.254/",
    "The destination 169.254.169.254 is a link-local or metadata address, which --destinations any refuses: list it in --allow-destination",
  ],
  [
    "any",
    [],
    "http://100.64.0.1/",
    "The destination 100.64.0.1 is not a public address, which --destinations any refuses: list it in --allow-destination",
  ],
  ["any", [], "ftp://a.test/", "The destination is not an http or https URL but ftp"],
  ["any", [], "file:///etc/passwd", "The destination is not an http or https URL but file"],
  [
    "any",
    [],
    "http://user:secret@a.test/",
    "The destination has a user or a password in its URL: send an Authorization header instead",
  ],
  ["any", [], "http://a.test:0/", "The destination a.test has port 0"],
  [
    "public",
    [],
    "http://a.test:25/",
    "The destination a.test is refused at port 25 (SMTP): list the host in --allow-destination",
  ],
  ["private", ["a.test"], "http://a.test:6379/", undefined],
  ["public", ["10.0.0.1"], "http://10.0.0.1:6379/", undefined],
  ["any", [], "http://a.test:6379/", undefined],
  ["public", [], "https://a.test:8443/x?y=z", undefined],
  ["public", [], "http://a.test/", undefined],
];

test("C-07, C-09: a refusal names the reason and the setting, and a name is judged after its look-up", () => {
  for (const [profile, allowed, url, expected] of texts) {
    assert.equal(parseDestinations(profile, allowed).refusalOf(new URL(url)), expected, url);
  }
});

test("reads the items of an allow-list, and names an invalid item", () => {
  assert.deepEqual(parseAllowedDestinations(" 10.0.0.0/8, A.test ,*.b.test,,::1"), [
    "10.0.0.0/8",
    "a.test",
    "*.b.test",
    "::1",
  ]);
  for (const item of ["10.0.0.0/33", "10.0.0/8", "fd00::/129", "a_b!", "1.2.3", "*", "a.test/8", "10.0.0.0/"]) {
    assert.throws(() => parseAllowedDestinations(`a.test,${item}`), {
      message: `"${item}" is not a CIDR block, an address, a host name or *.suffix`,
    });
  }
});

test("has no class for an invalid address", () => {
  for (const text of ["", "a.test", "1.2.3.4.5", "::g"]) assert.equal(classAddress(text), undefined, text);
});

function verdict(refusal: string | undefined): Verdict {
  return refusal === undefined ? "called" : "refused";
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryAccount } from "../../kernel/memory-guard.ts";
import { type EnvelopeFields, type EnvelopeSource, Envelopes } from "./envelope.ts";

const fields: EnvelopeFields = { url: "https://a.test/b", method: "POST", headers: ["X", "1"], retriesMax: 3 };

test("a source shares one envelope with equal fields, and it counts all uses", () => {
  const envelopes = new Envelopes();
  const source: EnvelopeSource = { fields };
  const first = envelopes.shareFrom(source);
  assert.equal(envelopes.shareFrom(source), first);
  assert.equal(envelopes.share({ ...fields }), first);
  assert.equal(envelopes.shareFrom({ fields: { ...fields } }), first);
  assert.equal(first.useCount, 4);
  assert.equal(first.text, '{"url":"https://a.test/b","method":"POST","headers":["X","1"],"retriesMax":3}');
  assert.equal(envelopes.size, 1);
});

test("an envelope without a use is shared again by its source, and counts for its next user", () => {
  const envelopes = new Envelopes();
  const source: EnvelopeSource = { fields };
  const account = new MemoryAccount("main");
  for (let times = 0; times < 2; times += 1) {
    const envelope = envelopes.shareFrom(source);
    envelopes.charge(envelope, account);
    assert.equal(envelopes.size, 1);
    assert.ok(account.bytes > 0);
    assert.equal(envelopes.shareText(envelope.text), envelope);
    envelopes.release(envelope);
    envelopes.release(envelope);
    assert.deepEqual([envelopes.size, envelope.useCount, account.bytes], [0, 0, 0]);
  }
});

test("a source takes the envelope that others have shared since its own was released", () => {
  const envelopes = new Envelopes();
  const source: EnvelopeSource = { fields };
  const old = envelopes.shareFrom(source);
  envelopes.release(old);
  const current = envelopes.share({ ...fields });
  assert.notEqual(current, old);
  assert.equal(envelopes.shareFrom(source), current);
  assert.equal(envelopes.shareFrom(source), current);
  assert.deepEqual([current.useCount, old.useCount, envelopes.size], [3, 0, 1]);
});

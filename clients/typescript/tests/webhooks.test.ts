/** Signatures against the published example of Standard Webhooks, and what must be refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Forged, verify } from "../src/webhooks.js";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = '{"test": 2432232314}';
const HEADERS = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const AT = 1614265330_000;

test("the published example fits, also beside another secret and another signature", async () => {
  assert.deepEqual(await verify(BODY, new Headers(HEADERS), [SECRET], AT), { test: 2432232314 });
  const both = new Headers({ ...HEADERS, "webhook-signature": `v1,AAAA ${HEADERS["webhook-signature"]}` });
  assert.deepEqual(await verify(BODY, both, ["whsec_YW5vdGhlcg==", SECRET], AT), { test: 2432232314 });
});

test("what is changed, old or unsigned is refused", async () => {
  const changed: Record<string, string>[] = [
    { "webhook-signature": "v1,h0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" },
    { "webhook-signature": `v2,${HEADERS["webhook-signature"].slice(3)}` },
    { "webhook-id": "msg_other" },
    { "webhook-timestamp": "1614265331" },
    { "webhook-timestamp": "soon" },
  ];
  for (const change of changed) await assert.rejects(verify(BODY, new Headers({ ...HEADERS, ...change }), [SECRET], AT), Forged);
  await assert.rejects(verify(BODY.replace("2", "3"), new Headers(HEADERS), [SECRET], AT), Forged);
  await assert.rejects(verify(BODY, new Headers(HEADERS), [SECRET], AT + 301_000), /300 s/);
  await assert.rejects(verify(BODY, new Headers(), [SECRET], AT), /missing/);
});

/** Webhooks that Factum sends, checked as Standard Webhooks says: whose they are, and that they are not old. */

/** Not signed with the endpoint's secret, or too old. Answer 400 and do nothing. */
export class Forged extends Error {
  override name = "Forged";
}

const TOLERANCE_S = 300;

/**
 * The JSON of a webhook whose signature fits one of the secrets (`whsec_…`; two while a secret is rotated). `webhook-id` names the message: it may
 * come more than once, so take it once.
 */
export async function verify(body: string, headers: Headers, secrets: string[], now = Date.now()): Promise<unknown> {
  const [id, stamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => headers.get(name));
  if (!id || !stamp || !signatures || !/^\d+$/.test(stamp)) {
    throw new Forged("a header is missing or malformed: webhook-id, webhook-timestamp and webhook-signature are needed");
  }
  if (Math.abs(now / 1000 - Number(stamp)) > TOLERANCE_S) throw new Forged(`webhook-timestamp is more than ${TOLERANCE_S} s away`);
  const signed = new TextEncoder().encode(`${id}.${stamp}.${body}`);
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey("raw", bytes(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures.split(" ")) {
      const [version, value = ""] = signature.split(",", 2);
      // Compared by the platform, in constant time.
      if (version === "v1" && (await crypto.subtle.verify("HMAC", key, bytes(value), signed))) return JSON.parse(body);
    }
  }
  throw new Forged("no signature fits");
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

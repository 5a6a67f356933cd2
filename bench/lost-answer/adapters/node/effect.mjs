// What a careful application does for one effect, in Node: `effect.py` is the same for Python.
//
// With a key: send it. With a search by reference: look first, create if nothing is there. Otherwise: send. A timeout, a lost
// connection and any status but 201 are errors; what the surrounding system makes of them is what is compared.
import http from "node:http";

const destination = process.env.DESTINATION;
const timeout = Number(process.env.CALL_TIMEOUT ?? 2) * 1000;

async function found(id, kind) {
  const answer = await fetch(`${destination}/${kind}/sync/effects?reference=${encodeURIComponent(id)}`, {
    signal: AbortSignal.timeout(timeout),
  });
  return (await answer.json()).items.some((item) => item.reference === id);
}

export async function perform(id, kind) {
  if ((kind === "lookup" || kind === "lagging") && (await found(id, kind))) return "found";
  const headers = { "content-type": "application/json", connection: "close" };
  if (kind === "key" || kind === "cancel") headers["idempotency-key"] = id;
  const answer = await fetch(`${destination}/${kind}/sync/effects`, {
    method: "POST",
    headers,
    body: JSON.stringify({ reference: id, business: id }),
    signal: AbortSignal.timeout(timeout),
  });
  if (answer.status !== 201 || !(await answer.json()).ok) throw new Error(`the destination answered ${answer.status}`);
  return "created";
}

// The small HTTP door of workers: `submit(id, kind)` resolves once the effect is taken, `status(id)` to a word of the protocol.
export function door(submit, status) {
  http
    .createServer((request, response) => {
      let text = "";
      request.on("data", (part) => (text += part));
      request.on("end", async () => {
        let code = 200;
        let answer = {};
        try {
          const body = JSON.parse(text);
          if (request.url === "/submit") await submit(body.id, body.kind);
          else answer = Object.fromEntries(await Promise.all(body.ids.map(async (id) => [id, await status(id)])));
        } catch (error) {
          code = 500;
          answer = { error: String(error?.stack ?? error) };
        }
        response.writeHead(code, { "content-type": "application/json" });
        response.end(JSON.stringify(answer));
      });
    })
    .listen(Number(process.env.PORT), "127.0.0.1");
}

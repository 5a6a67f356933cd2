// The one effect that all systems in Node carry out, and the HTTP server that takes requests for those that bring none.
import http from "node:http";

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
const sink = { host: "127.0.0.1", port: Number(process.env.SINK_PORT), method: "POST", path: "/effect", agent };

export function perform(key, payload) {
  const body = JSON.stringify({ key, payload });
  return new Promise((done, failed) => {
    const request = http.request(
      { ...sink, headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), "idempotency-key": key } },
      (response) => {
        response.resume();
        response.on("end", () => (response.statusCode === 200 ? done("ok") : failed(new Error(`the sink answered ${response.statusCode}`))));
      },
    );
    request.on("error", failed);
    request.end(body);
  });
}

export function door(routes) {
  http
    .createServer((request, response) => {
      let text = "";
      request.on("data", (part) => (text += part));
      request.on("end", async () => {
        try {
          const body = JSON.parse(text);
          const status = await routes[request.url](body.key, body.payload);
          response.writeHead(status).end();
        } catch (error) {
          response.writeHead(500).end(String(error?.stack ?? error));
        }
      });
    })
    .listen(Number(process.env.PORT), "127.0.0.1");
}

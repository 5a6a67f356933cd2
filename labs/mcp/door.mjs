// A door before the server that adds the token: the conformance suite has no way to send one. door.mjs TARGET TOKEN: prints its port.
import { createServer, request } from "node:http";

const [target, token] = process.argv.slice(2);
const door = createServer((from, to) => {
  const headers = { ...from.headers, authorization: `Bearer ${token}` };
  const onward = request(new URL(from.url, target), { method: from.method, headers }, (answer) => {
    to.writeHead(answer.statusCode, answer.headers);
    answer.pipe(to);
  });
  onward.on("error", () => to.destroy());
  from.pipe(onward);
});
door.listen(0, "127.0.0.1", () => console.log(door.address().port));

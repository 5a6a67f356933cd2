"""The small HTTP door of workers in Python."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(port: int, submit, status) -> None:
    """`submit(id, kind)` returns once the effect is taken; `status(id)` says a word of the protocol."""

    class Door(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path == "/submit":
                submit(body["id"], body["kind"])
                answer = {}
            else:
                answer = {id: status(id) for id in body["ids"]}
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Door).serve_forever()

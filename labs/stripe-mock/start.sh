#!/usr/bin/env bash
# stripe-stateful-mock (npm) on loopback: the shape of Stripe, with real replays of idempotency keys. Its state is in memory
# only: a restart forgets everything, the keys too.
# Prints LAB_DIR, URL (with no path: POST URL/v1/charges makes a charge), TOKEN.
# A second start.sh with the same LAB_DIR starts it on the same port, empty.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_npm stripe-mock stripe-stateful-mock@0.0.16
lab_new stripe-mock
if [ ! -f "$LAB_DIR/env" ]; then
  printf 'URL=http://127.0.0.1:%s\nTOKEN=sk_test_lab\n' "${PORT:-$(free_port)}" >"$LAB_DIR/env"
fi
. "$LAB_DIR/env"
cd "$LAB_CACHE/stripe-mock"
LOG_LEVEL=warn spawn stripe node -e 'require("stripe-stateful-mock").createExpressApp().listen(+process.argv[1], "127.0.0.1")' "${URL##*:}"
wait_http "$URL/" 30
lab_done

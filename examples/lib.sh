# A folder of a script's own, and the programs that it starts, ended with it. Source it, do not run it.
#
# It changes to the folder: what a script needs from where it was, it takes before. Every program that a script starts joins `children`.

folder=$(mktemp -d) children=()
finish() { for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done; wait; rm -rf "$folder"; }
trap finish EXIT
cd "$folder"
said() {               # said FILE NAME: a member of the first line of a file, once it is there
  local i
  for i in $(seq 300); do
    if [ -s "$1" ]; then python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).readline())[sys.argv[2]])' "$1" "$2"; return; fi
    sleep 0.1
  done
  echo "$1 stays empty" >&2; return 1
}

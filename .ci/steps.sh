# What `.ci/run` and `.ci/nightly` share; to be sourced by bash in the root of the project.

# With CI set what is missing (PostgreSQL, psql, Helm, a browser, root …) fails the tests instead of skipping them.
export CI=true

step() {
  printf '\n== %s (after %d s)\n' "$*" "$SECONDS"
  "$@"
}

# What tests run besides Node and PostgreSQL: a reverse proxy, Compose to read the compose files, a browser, PostgreSQL's
# own client, and Python for a generated client of the API and for an identity provider.
tools() {
  local missing=()
  PATH="$PATH:/usr/sbin" command -v nginx || missing+=(nginx-light)
  docker compose version || docker-compose version || missing+=(docker-compose)
  command -v "${CHROMIUM_PATH:-/usr/bin/chromium}" || missing+=(chromium)
  command -v psql || missing+=(postgresql-client)
  python3 -c 'import ensurepip, venv' || missing+=(python3 python3-venv)
  if ((${#missing[@]} == 0)); then return; fi
  local as_root=()
  if ((EUID != 0)); then as_root=(sudo --non-interactive); fi
  "${as_root[@]}" apt-get update --quiet=2
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}"
}

# Debian has no Helm: it is built once, and kept where caches are.
helm_version=v3.18.6
helm_folder="${XDG_CACHE_HOME:-$HOME/.cache}/towpath/helm-$helm_version"
export PATH="$helm_folder:$PATH"
helm_program() {
  if command -v helm; then return; fi
  command -v go || { echo 'Helm is missing, and Go to build it from source' >&2; return 1; }
  GOBIN="$helm_folder" go install "helm.sh/helm/v3/cmd/helm@$helm_version"
}

#!/bin/sh
# Writes random values for the secrets of the Compose files into files. Existing files are not changed.
# Usage: deploy/make-secrets.sh [folder]     default: secrets, next to docker-compose.yml
set -eu
folder=${1:-$(dirname "$0")/../secrets}
mkdir -p "$folder"
# Compose mounts the files with the owner and mode that they have here, but the containers run as other users. So the
# files are readable by everyone, and the folder is not.
chmod 0700 "$folder"

make() {
  [ -s "$folder/$1" ] && return
  openssl rand "$2" 32 > "$folder/$1.new"
  chmod 0444 "$folder/$1.new"
  mv "$folder/$1.new" "$folder/$1"
}

make database_password -hex
make admin_token -hex
make grafana_password -hex
make oidc_client_secret -hex
make keycloak_admin_password -hex
# keep a copy elsewhere: without it the server credentials in the database are lost
make encryption_key -base64

#!/bin/sh
# Writes the secrets of docker-compose.yml as files: random values, those that exist already stay as they are.
# Usage: deploy/make-secrets.sh [folder]     default: secrets, beside docker-compose.yml
set -eu
folder=${1:-$(dirname "$0")/../secrets}
mkdir -p "$folder"
# Compose hands the files over with the owner and mode that they have here, and the users inside are others: the files
# are open, the folder is not.
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
# keep a copy elsewhere: without it the credentials of upstream servers in the database are lost
make encryption_key -base64

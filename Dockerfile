# docker build -t towpath .                        Towpath only, for servers that have a URL
# docker build -t towpath:stdio --target stdio .   with npx and uvx, for stdio servers
#
# Writable at run time: /data (embedded store, key file), /tmp (working directories of stdio servers), and in
# the stdio image /home/towpath (packages of npx and uvx). Everything else may be read-only.

ARG NODE_VERSION=24.21.0
ARG DEBIAN_RELEASE=trixie
ARG UV_VERSION=0.13.9

FROM node:${NODE_VERSION}-${DEBIAN_RELEASE}-slim AS node

FROM node AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build
# most packages are part of the build: what the published package depends on remains
RUN node scripts/published-manifest.mjs write
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM ghcr.io/astral-sh/uv:${UV_VERSION} AS uv

FROM debian:${DEBIAN_RELEASE}-slim AS runtime
RUN groupadd --gid 1000 towpath \
  && useradd --uid 1000 --gid 1000 --create-home --shell /usr/sbin/nologin towpath \
  && install -d -o 1000 -g 1000 -m 0700 /data
# The kernel hides a process with an unreadable executable from other processes of its user: stdio servers can read
# neither the environment nor the memory of the gateway (docs/explanation/security.md).
COPY --from=node --chown=0:0 --chmod=0711 /usr/local/bin/node /usr/local/bin/node
COPY --from=build --chown=0:0 /app/LICENSE /app/LICENSE
COPY --from=build --chown=0:0 /app/package.json /app/package.json
COPY --from=build --chown=0:0 /app/node_modules /app/node_modules
COPY --from=build --chown=0:0 /app/dist /app/dist
ENV NODE_ENV=production HOME=/home/towpath HOST=0.0.0.0 PORT=8080 TOWPATH_DATA_DIR=/data
WORKDIR /home/towpath
USER 1000:1000
VOLUME ["/data"]
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "require('node:http').get({ host: '127.0.0.1', port: process.env.PORT, path: '/health' }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# as many helpers for garbage collection as there are other cores: the usual four delay the program on two cores
ENTRYPOINT ["node", "--v8-pool-size=0", "/app/dist/src/cli/main.js"]
CMD ["start"]

FROM runtime AS stdio
USER 0:0
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates python3 \
  && rm -rf /var/lib/apt/lists/*
COPY --from=uv --chown=0:0 /uv /uvx /usr/local/bin/
COPY --from=node --chown=0:0 /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
  && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
USER 1000:1000

# the default target of `docker build`
FROM runtime AS latest

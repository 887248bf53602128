# One image for every Parley process; the command selects it: server, worker, doctor …
#
#   docker build -t parley --build-arg PARLEY_REVISION=$(git rev-parse --short=12 HEAD) .
#   docker run --init -e REDIS_URL=redis://… -e PARLEY_AUTH_NONE_ANYWHERE=true -p 127.0.0.1:3000:3000 parley server
#
# A container listens on all of its addresses, so a front end starts only with PARLEY_AUTH=required and a provider, or with
# PARLEY_AUTH_NONE_ANYWHERE=true.
#
# To add your own tools: FROM parley, COPY them to /parley/tools (where they can import @parley/sdk) and set PARLEY_TOOLS=./tools/mine.ts.

# By its digest, so that each build has the same Node.js and the same system. It is of the version that package.json has.
FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS base

FROM base AS web
WORKDIR /parley
COPY . .
# Installs only what the build of the pages needs.
RUN --mount=type=cache,target=/root/.npm npm ci --workspace @parley/web --ignore-scripts --no-audit --no-fund && node apps/web/build.ts

FROM base AS build
WORKDIR /parley
COPY . .
# No production dependency needs its install script. The one package that does is the Node.js for development, a dev dependency.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Builds between two releases have the same version. With the commit, /healthz, serverInfo, metrics and traces tell which one runs.
ARG PARLEY_REVISION=
RUN [ -z "$PARLEY_REVISION" ] || sed -i "s/^  \"version\": \"\([^\"+]*\)\"/  \"version\": \"\1+$PARLEY_REVISION\"/" apps/*/package.json

FROM base
# Node.js runs the TypeScript sources directly. It does not strip types within node_modules, but npm links the workspaces there and Node.js
# resolves the links to packages/ and apps/.
WORKDIR /parley
COPY --from=build /parley/node_modules node_modules
COPY --from=build /parley/package.json ./
COPY --from=build /parley/packages packages
COPY --from=build /parley/apps apps
COPY --from=web /parley/apps/web/dist apps/web/dist
# For files that tools keep; the only directory that must be writable.
RUN mkdir /data && chown node:node /data
USER node
ENV NODE_ENV=production \
    PARLEY_HOST=0.0.0.0 \
    PARLEY_METRICS_HOST=0.0.0.0 \
    PARLEY_METRICS_PORT=9464 \
    PARLEY_SHUTDOWN_DELAY=3s \
    PARLEY_GALLERY_DIR=/data
EXPOSE 3000 9464
HEALTHCHECK --interval=5s --timeout=10s --start-period=60s --retries=3 CMD ["node", "apps/cli/healthcheck.ts"]
# Node.js as process 1 receives SIGTERM and shuts down gracefully. It does not reap processes that tools leave behind: use --init if tools
# start any.
ENTRYPOINT ["node", "apps/cli/main.ts"]
CMD ["server"]

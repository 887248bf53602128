# One image for every process of Parley; the command says which: server, worker, doctor …
#
#   docker build -t parley .
#   docker run --init -e REDIS_URL=redis://… -e PARLEY_AUTH_NONE_ANYWHERE=true -p 127.0.0.1:3000:3000 parley server
#
# A container listens on all of its addresses, so a front end wants PARLEY_AUTH=required with a provider, or to be told that none is needed.
#
# Tools of your own: FROM parley, COPY them to /parley/tools (where they find @parley/sdk) and set PARLEY_TOOLS=./tools/mine.ts.

FROM node:24-bookworm-slim AS web
WORKDIR /parley
COPY . .
# Only what the pages are built with.
RUN --mount=type=cache,target=/root/.npm npm ci --workspace @parley/web --ignore-scripts --no-audit --no-fund && node apps/web/build.ts

FROM node:24-bookworm-slim AS build
WORKDIR /parley
COPY . .
# No package of the product needs its install script; the one that does is the Node of laptops, a dev dependency.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
# Node runs the TypeScript sources as they are. It strips no types within node_modules: npm links the workspaces there, and links are
# resolved to packages/ and apps/.
WORKDIR /parley
COPY --from=build /parley/node_modules node_modules
COPY --from=build /parley/package.json ./
COPY --from=build /parley/packages packages
COPY --from=build /parley/apps apps
COPY --from=web /parley/apps/web/dist apps/web/dist
# For files that tools keep; the only place that has to be writable.
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
# Node as the first process gets SIGTERM and ends gently. It does not reap what tools leave behind: run with --init if they start processes.
ENTRYPOINT ["node", "apps/cli/main.ts"]
CMD ["server"]

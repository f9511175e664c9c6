# The service as one image for every role; SEALPOST_ROLES says which one a container has.
FROM node:24-bookworm AS build
WORKDIR /src
COPY package.json package-lock.json ./
COPY dashboard/package.json dashboard/
COPY packages/sdk/package.json packages/sdk/
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm pack --silent --pack-destination / && bin/image.sh /sealpost-*.tgz /app /usr/local/bin/node
# Symbols of Node are for debuggers only.
RUN strip --strip-unneeded -o /node /usr/local/bin/node

# Node without npm: what the package needs is in /app.
FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="sealpost" \
      org.opencontainers.image.description="A self-hosted transactional email service whose log is its ledger" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.licenses="MIT"
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --no-create-home --shell /usr/sbin/nologin node \
    && install -d -o node -g node -m 700 /data
COPY --from=build /node /usr/local/bin/node
COPY --from=build /app /app
WORKDIR /app
ENV NODE_ENV=production \
    SEALPOST_DATA_DIR=/data \
    HOST=0.0.0.0
USER node
# Nothing else is written to: the root of a container may be read-only.
VOLUME ["/data", "/tmp"]
EXPOSE 3000 9464
# A role without HTTP answers where its metrics are, if SEALPOST_METRICS_PORT is set.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const { PORT = 3000, SEALPOST_ROLES: roles = 'http', SEALPOST_METRICS_PORT: metrics } = process.env; const path = roles.includes('http') ? `${PORT}/health/ready` : metrics && `${metrics}/metrics`; if (path) fetch(`http://127.0.0.1:${path}`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/app/bin/sealpost.js"]
CMD ["serve"]

# The service as one image for every role; SEALPOST_ROLES says which one a container has.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY dashboard/package.json dashboard/
COPY packages/sdk/package.json packages/sdk/
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY src src
COPY test test
COPY bench bench
COPY bin bin
COPY dashboard dashboard
COPY packages packages
RUN npm run build && npm prune --omit=dev --no-audit --no-fund
# Once more with the Node of the image: npm scripts take the one of the packages, and V8 takes back only what the same V8 has compiled.
RUN node --no-deprecation build/src/adapters/render/workers/bundle-cache.js

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production \
    SEALPOST_DATA_DIR=/data \
    HOST=0.0.0.0
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/build/src build/src
COPY --from=build /app/build/dashboard build/dashboard
COPY bin bin
COPY fonts fonts
COPY samples samples
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000 9464
ENTRYPOINT ["/app/bin/sealpost.js"]
CMD ["serve"]

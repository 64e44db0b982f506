# larder in a container: compiled JavaScript and its dependencies on Node's own slim image.
#
#     docker build -t larder .                    # --build-arg RUN_AS=0:0 where a platform gives the volume to root
#     docker run --rm --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp \
#       -v larder-data:/data -p 127.0.0.1:8079-8081:8079-8081 larder
#
# Podman and Buildah need --format docker: their own format has no health check, and they leave ours out with a warning.
# Pin the image by its digest before you rely on it: docker buildx imagetools inspect node:26-bookworm-slim
FROM node:26-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY tools/build.ts tools/compact-code.ts tools/start-files.ts ./tools/
COPY console ./console
COPY tools/console.ts ./tools/
RUN npm run build && npm run console
# The signatures of S3, and the client of PostgreSQL: optional for users of the package, and in the image for all.
RUN npm pkg set dependencies.aws4fetch="$(npm pkg get devDependencies.aws4fetch | tr -d '\"')" && npm pkg delete devDependencies.aws4fetch
RUN npm pkg set dependencies.pg="$(npm pkg get devDependencies.pg | tr -d '\"')" && npm pkg delete devDependencies.pg
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-bookworm-slim
WORKDIR /app
COPY LICENSE README.md package.json ./
COPY bin ./bin
COPY vendor ./vendor
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY deploy/image/health ./
# A number, so that Kubernetes can see that it is not root.
ARG RUN_AS=10001:10001
RUN mkdir /data && chown "$RUN_AS" /data
USER $RUN_AS
VOLUME /data
# Inside the container every address is its own; what is published decides who reaches it. The admin port stays on loopback.
ENV NODE_ENV=production LARDER_HOST=0.0.0.0 LARDER_DATA_DIR=/data
EXPOSE 8079 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/app/health"]
ENTRYPOINT ["node", "--disable-sigusr1", "/app/bin/larder.cjs"]
CMD ["serve"]

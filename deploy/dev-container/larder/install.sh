#!/bin/sh
# Installs larder when the image of a dev container is built, and the script that starts it with the container.
set -eu

# The feature of Node puts it here, where this shell does not look.
PATH="$PATH:/usr/local/share/nvm/current/bin"
if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 24 ? 0 : 1)' 2>/dev/null; then
  echo "larder needs Node 24 or newer: add the feature ghcr.io/devcontainers/features/node with \"version\": \"24\"" >&2
  exit 1
fi
folder=/usr/local/share/larder
mkdir -p "$folder"
npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund "larderd@${VERSION:-latest}"
cat >"$folder/start" <<'START'
#!/bin/sh
# The entrypoint of the container: starts larder dev, then the command of the container.
PATH="$PATH:/usr/local/share/nvm/current/bin"
/usr/local/share/larder/node_modules/.bin/larderd dev --resp-port 6379 >/tmp/larder.log 2>&1 &
exec "$@"
START
chmod 755 "$folder/start"
ln -sf "$folder/node_modules/.bin/larderd" /usr/local/bin/larderd
ln -sf "$folder/node_modules/.bin/larder" /usr/local/bin/larder

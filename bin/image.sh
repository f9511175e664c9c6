#!/bin/sh
# The files of the image, from the package of a release: the program and what it runs with, without what never runs on this machine.
#   image.sh PACKAGE.tgz DIR [NODE]    DIR becomes /app; NODE is the Node of the image
set -eu
package=$(realpath "$1")
dir=$2
node=$(realpath "${3:-$(command -v node)}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --omit=dev --ignore-scripts --no-audit --no-fund --no-package-lock --prefer-offline "$package"
mkdir -p "$dir"
cp -R node_modules/sealpost/. "$dir"
rm -rf node_modules/sealpost node_modules/.bin node_modules/.package-lock.json
# SQLite comes compiled for eight kinds of machines, and with its sources.
machine=$("$node" -p 'process.platform + "-" + process.arch')
rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src node_modules/node-addon-api
find node_modules/better-sqlite3/prebuilds -name '*.node' ! -name "$machine.node" -delete
find node_modules \( -name '*.map' -o -name '*.d.ts' \) -delete
cp -R node_modules "$dir"
# V8 takes back only what the same V8 has compiled.
"$node" --no-deprecation "$dir/build/src/adapters/render/workers/bundle-cache.js"
chmod -R a+rX "$dir"

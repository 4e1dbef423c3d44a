#!/usr/bin/env bash
# Checks the package with two versions of @ag-ui/client:  run.sh NEWEST ASSISTANT_UI
# The arguments are directories with the node_modules of newest/ and assistant-ui/.
# P20EXPORT_BINARY is the path of the program.
set -euo pipefail
cd "$(dirname "$0")/.."
newest=$1 assistant_ui=$2
strict=(--noEmit --strict --target es2022 --lib ES2022,ESNext.Disposable,DOM,DOM.Iterable --types node)

use() { ln -sfn "$1/node_modules" node_modules; }
types() { # the types as users see them, with both ways to find packages
	node_modules/.bin/tsc "${strict[@]}" --module nodenext "$@"
	node_modules/.bin/tsc "${strict[@]}" --module esnext --moduleResolution bundler "$@"
}

use "$assistant_ui"
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
cp -R package.json tsconfig.json src "$generated" && ln -s "$assistant_ui/node_modules" "$generated"
find "$generated/src" -name '*.d.ts' ! -name copilotkit.d.ts -delete # tsc would read them instead of the sources
node_modules/.bin/tsc -p "$generated"
diff -r src "$generated/src" || { echo "run.sh: the declarations in src are out of date; run make clients-typescript-types" >&2; exit 1; }
types --skipLibCheck test/types/*.ts # assistant-ui's own types need it
node --test test/events.test.js test/agent.test.js test/trials.test.js test/assistant-ui.test.js

use "$newest"
types test/types/agent.ts
node --test test/events.test.js test/agent.test.js test/trials.test.js test/testing.test.js

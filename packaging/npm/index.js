"use strict";

const name = process.platform === "win32" ? "p20export.exe" : "p20export";
const platform = `@p20export/${process.platform}-${process.arch}`;

let path;
try {
  path = require.resolve(`${platform}/bin/${name}`);
} catch {
  throw new Error(
    `p20export: the package ${platform} is not installed. There are packages for Linux, macOS and Windows, each on ` +
      `x64 and arm64. If this is one of them, npm was told to leave out optional dependencies (--omit=optional), or ` +
      `node_modules is from another system: install again here. Elsewhere, build the program with Go 1.26 or newer: ` +
      `go install github.com/p20export/p20export/cmd/p20export@v${require("./package.json").version}`,
  );
}

/** The path of the program. */
exports.binary = path;

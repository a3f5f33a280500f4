// Plain CommonJS in old syntax: it has to run on every Node in order to refuse the old ones in words.
var version = process.versions.node.split(".").map(Number)
var major = version[0]
var minor = version[1]

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    "Agent Memory needs Node 22.19 or later, and this is Node " +
      process.versions.node +
      " (" +
      process.execPath +
      ").\n" +
      // Only a checkout has the sources above this file, and a Node in its lock file.
      (require("fs").existsSync(require("path").join(__dirname, "../main.ts"))
        ? "On glibc Linux (x64, arm64) `npm ci` brings Node 26 along: run it without --omit=optional, then use the npm scripts.\n" +
          "Elsewhere install Node 26 from https://nodejs.org and try again."
        : "Install Node 26 from https://nodejs.org and try again.")
  )
  process.exit(1)
}

// The next start takes the compiled code from here. Where the folder cannot be written, it is compiled every time.
var enableCompileCache = require("module").enableCompileCache
if (enableCompileCache) enableCompileCache(require("path").join(__dirname, "../../dist/compiled"))

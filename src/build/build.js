import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { buildClientPackage, buildLibrary, bundleForNode } from "./bundles.js"

// node src/build/build.js [--assets | --service | --client] [folder]: builds everything, or a part of it, into the folder
// (dist/). `--client` makes the package agent-memory-client, with only the Promise client.
const options = process.argv.slice(2)
const part = options.find((option) => option.startsWith("--"))
const outdir = options.find((option) => !option.startsWith("--")) ?? "dist"
const entry = "src/main.ts"

const esbuild = await import("esbuild").catch(() => undefined)

if (esbuild === undefined) {
  // `npm ci --omit=dev` runs `prepare` too, and an image that brings its own dist/ must still install.
  console.warn("Not built: esbuild is a development dependency and is not installed. dist/ stays as it is.")
} else if (!existsSync(entry)) {
  console.warn(`Not built: there is no ${entry}.`)
} else if (part === "--client") {
  await buildClientPackage(esbuild, join(outdir, "agent-memory-client"))
} else {
  const { buildAssets } = await import("./assets.js")
  if (part !== "--assets") {
    clear()
    await bundleForNode(esbuild, { entryPoints: { main: entry }, outdir })
    if (part !== "--service") await buildLibrary(esbuild, outdir)
  }
  await buildAssets(esbuild, join(outdir, "assets"))
}

/** Removes the last build except the types: npm runs `prepack`, which makes them, before `prepare`, which runs this. */
function clear() {
  const names = existsSync(outdir) ? readdirSync(outdir) : []
  for (const name of names) if (name !== "types") rmSync(join(outdir, name), { recursive: true, force: true })
}

import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

// node src/build.js [--assets | --service] [folder]: all that runs, or a part of it, into the folder (dist/).
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
} else {
  const { buildAssets } = await import("./buildAssets.js")
  if (part !== "--assets") {
    clear()
    const { bundleForNode } = await import("./bundleForNode.js")
    await bundleForNode(esbuild, { entryPoints: { main: entry }, outdir })
    if (part !== "--service") {
      const { buildLibrary } = await import("./buildLibrary.js")
      await buildLibrary(esbuild, outdir)
    }
  }
  await buildAssets(esbuild, join(outdir, "assets"))
}

/** Removes what was built before. npm runs `prepack`, which makes the types, before `prepare`, which runs this. */
function clear() {
  const names = existsSync(outdir) ? readdirSync(outdir) : []
  for (const name of names) if (name !== "types") rmSync(join(outdir, name), { recursive: true, force: true })
}

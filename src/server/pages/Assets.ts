import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Data, Effect, type Layer, Option, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { NotFound } from "../../domain/Problem.ts"
import { renderProblem } from "../http/RenderProblem.ts"
import { etagOf, serveFile, type StaticFile } from "./StaticFile.ts"

/** What browsers load was not built. */
export class AssetsMissing extends Data.TaggedError("AssetsMissing")<{ readonly message: string }> {}

const contentTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".ttf": "font/ttf"
}

/** Beside the bundle, or in `dist/` when the sources run as they are. */
const places = ["./assets/", "../../../dist/assets/"].map((path) => fileURLToPath(new URL(path, import.meta.url)))

const Document = Schema.Struct({
  html: Schema.String,
  sections: Schema.Array(Schema.Struct({ id: Schema.String, title: Schema.String, text: Schema.String }))
})

const Documents = Schema.Struct({ deployment: Document, security: Document })

interface Assets {
  readonly manifest: Readonly<Record<string, string>>
  readonly files: ReadonlyMap<string, StaticFile>
  readonly documents: typeof Documents.Type
}

const read = (): Assets => {
  const folder = places.find((path) => existsSync(join(path, "manifest.json")))
  if (folder === undefined) {
    throw new AssetsMissing({ message: "The scripts and styles of the pages are missing: run `npm run build`." })
  }
  const manifest = Schema.decodeSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))(
    readFileSync(join(folder, "manifest.json"), "utf8")
  )
  const documents = Schema.decodeSync(Schema.fromJsonString(Documents))(
    readFileSync(join(folder, "documents.json"), "utf8")
  )
  const files = readdirSync(folder).flatMap((name) => {
    const contentType = contentTypes[extname(name)]
    if (contentType === undefined) return []
    const bytes = readFileSync(join(folder, name))
    const form = (extension: string) => {
      const path = join(folder, name + extension)
      return existsSync(path) ? readFileSync(path) : undefined
    }
    return [[name, { contentType, bytes, br: form(".br"), gzip: form(".gz"), etag: etagOf(bytes) }] as const]
  })
  return { manifest, files: new Map(files), documents }
}

let known: Assets | undefined
const assets = (): Assets => (known ??= read())

/** The address of an entry point of `pages/browser`, such as `asset("site.css")`. */
export const asset = (name: string): string => {
  const file = assets().manifest[name]
  if (file === undefined) throw new AssetsMissing({ message: `${name} is missing: run \`npm run build\`.` })
  return `/assets/${file}`
}

/** The documents of the repository that pages show, as HTML, with their sections. */
export const documents = (): typeof Documents.Type => assets().documents

const headers = {
  // The name holds a hash of the content.
  "cache-control": "public, max-age=31536000, immutable",
  "cross-origin-resource-policy": "same-origin"
}

/** `GET /assets/{file}`: scripts and styles of the pages. */
export const AssetRoutes: Layer.Layer<never, AssetsMissing, HttpRouter.HttpRouter> = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { files } = yield* Effect.try({
      try: assets,
      catch: (error) => (error instanceof AssetsMissing ? error : new AssetsMissing({ message: String(error) }))
    })
    yield* router.add(
      "GET",
      "/assets/:file",
      Effect.gen(function* () {
        const { file } = yield* HttpRouter.params
        const found = Option.fromUndefinedOr(files.get(file ?? ""))
        if (Option.isNone(found)) return yield* renderProblem(new NotFound({ detail: "No file has this address." }))
        return yield* serveFile(found.value, headers)
      })
    )
  })
)

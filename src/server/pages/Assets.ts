import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { Data, Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/Problem.ts"
import { accepts } from "../doors/NodeServer.ts"
import { problemResponse } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"

/** Content that is the same for everyone, with its compressed forms; `etag` is that of the uncompressed one. */
export interface StaticFile {
  readonly contentType: string
  readonly bytes: Uint8Array
  readonly br: Uint8Array | undefined
  readonly gzip: Uint8Array | undefined
  readonly etag: string
}

const etagOf = (bytes: Uint8Array): string => `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`

/** The file in the best form that the request accepts, or 304 where the client already has it. */
export const serveFile = (file: StaticFile, headers: Readonly<Record<string, string>>) =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    const accepted = request.headers["accept-encoding"]
    const coding = (["br", "gzip"] as const).find((name) => file[name] !== undefined && accepts(accepted, name))
    // A validator belongs to one form of the content, so each has its own.
    const etag = coding === undefined ? file.etag : file.etag.replace(/"$/, `-${coding}"`)
    const all = { vary: "accept-encoding", ...headers, etag }
    const known = (request.headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""))
    if (known.includes(etag) || known.includes("*")) return HttpServerResponse.empty({ status: 304, headers: all })
    return HttpServerResponse.uint8Array((coding && file[coding]) ?? file.bytes, {
      contentType: file.contentType,
      headers: coding === undefined ? all : { ...all, "content-encoding": coding }
    })
  })

/** A text made at run time, compressed once for all requests. */
export const textFile = (contentType: string, text: string): StaticFile => {
  const bytes = Buffer.from(text)
  const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
  return { contentType, bytes, br, gzip: gzipSync(bytes), etag: etagOf(bytes) }
}

/** The files that browsers load were not built. */
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
  /** What is under each heading; parts have those of the highest level. */
  sections: Schema.Array(
    Schema.Struct({ id: Schema.String, title: Schema.String, text: Schema.String, isPart: Schema.Boolean })
  )
})

const Documents = Schema.Record(Schema.String, Document)

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

const built = <A>(all: Readonly<Record<string, A>>, name: string): A => {
  const found = all[name]
  if (found === undefined) throw new AssetsMissing({ message: `${name} is missing: run \`npm run build\`.` })
  return found
}

/** The address of an entry point of `src/web`, such as `asset("site.css")`. */
export const asset = (name: string): string => `/assets/${built(assets().manifest, name)}`

/** A document of the repository that a page shows, as HTML rendered at build time, with its sections. */
export const documentOf = (name: string): typeof Document.Type => built(assets().documents, name)

const headers = {
  // The name holds a hash of the content.
  "cache-control": "public, max-age=31536000, immutable",
  "cross-origin-resource-policy": "same-origin"
}

/** `GET /assets/{file}`: scripts and styles of the pages. */
export const AssetRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const { files } = yield* Effect.try({
      try: assets,
      catch: (error) => (error instanceof AssetsMissing ? error : new AssetsMissing({ message: String(error) }))
    })
    yield* route({
      method: "GET",
      path: "/assets/:file",
      render: problemResponse,
      *handle() {
        const { file } = yield* HttpRouter.params
        const found = files.get(file ?? "")
        if (found === undefined) return yield* new NotFound({ detail: "No file has this address." })
        return yield* serveFile(found, headers)
      }
    })
  })
)

import { Context, Layer } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { sitePaths } from "../pages/site/SitePaths.ts"
import { metadataPaths } from "../oauth/MetadataRoutes.ts"
import { MethodNotAllowed, NotFound } from "../../domain/Problem.ts"

/** The refusal of a request that no route takes; `allow` lists the methods that the address does take. */
export type Refusal = NotFound | (MethodNotAllowed & { readonly allow: string })

/**
 * The path of an address, escapes decoded except for those of separators. None with ill-formed escapes or an empty part,
 * or with a `;` or `#`: the framework's router takes what follows them for the query, so that `/v1/a;b` would be the
 * table `a`. `/mcp` alone may have a slash at its end.
 */
const pathOf = (url: string): string | undefined => {
  const path = url.split("?", 1)[0]!.replace(/^\/mcp\/$/, "/mcp")
  if (/[;#]|\/\/|.\/$/.test(path)) return undefined
  try {
    return decodeURI(path)
  } catch {
    return undefined
  }
}

/** Tells unknown addresses from known ones that were called with another method. */
export class Routes extends Context.Service<
  Routes,
  {
    readonly refusal: (method: string, url: string) => Refusal
    /** The methods that an address takes; none where it is no address at all. */
    readonly allowed: (url: string) => ReadonlyArray<string>
    /** Whether an address can be routed as it is spelled. */
    readonly isRoutable: (url: string) => boolean
    /** Whether an address is below those of links, whose every answer is sent with care. */
    readonly isOfLink: (url: string) => boolean
    /** What a request asks for, in words that hold nothing of the caller's: `rows.query`, or the route's own pattern. */
    readonly operation: (method: string, url: string) => string
  }
>()("agent-memory/server/http/Routes") {
  static readonly layer = Layer.sync(Routes, () => {
    const patterns: Array<{ readonly method: string; readonly pattern: RegExp; readonly operation: string }> = []
    const add = (method: string, path: string, operation = `${method} ${path}`) => {
      const source = path.replaceAll(/:table/g, "[^/_][^/]*").replaceAll(/:[a-z]+/g, "[^/]+")
      patterns.push({ method, pattern: new RegExp(`^${source}$`), operation })
    }
    HttpApi.reflect(Api, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint, group }) =>
        add(endpoint.method, endpoint.path, `${group.identifier}.${endpoint.identifier}`)
    })
    for (const path of ["/health", "/ready", "/openapi.json", "/sign-in", "/metrics", "/assets/:file"]) add("GET", path)
    add("POST", "/sign-in")
    add("GET", "/view/:token", "links.view")
    add("GET", "/view/:token/data", "links.data")
    add("GET", "/view/:token/download", "links.downloadViewed")
    add("GET", "/view/:token/versions", "links.versions")
    add("PATCH", "/view/:token", "links.save")
    add("POST", "/view/:token/restore", "links.restore")
    add("GET", "/download/:token", "links.download")
    for (const path of ["/sign-in/code", "/connections", "/authorize"]) {
      add("GET", path)
      add("POST", path)
    }
    for (const path of ["/sign-in/email", "/sign-out", "/token", "/revoke", "/register"]) add("POST", path)
    for (const path of [...metadataPaths.resource, ...metadataPaths.server]) add("GET", path)
    for (const method of ["GET", "POST", "DELETE"]) add(method, "/mcp")
    for (const path of sitePaths) add("GET", path)

    const allowed = (url: string): ReadonlyArray<string> => {
      const path = pathOf(url)
      if (path === undefined) return []
      const methods = patterns.flatMap(({ method, pattern }) => (pattern.test(path) ? [method] : []))
      if (methods.length === 0) return []
      return [...new Set([...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"])]
    }

    const refusal = (method: string, url: string): Refusal => {
      const methods = allowed(url)
      if (methods.length === 0) {
        return url.startsWith("/v1/_")
          ? new NotFound({
              detail: "No operation has this address, and no table's name begins with _.",
              hint: "Name a table with a letter and then letters, digits, _ or -; the operations are in /openapi.json."
            })
          : new NotFound({ detail: "No operation has this address." })
      }
      const allow = methods.join(", ")
      return Object.assign(new MethodNotAllowed({ detail: `${method} is not allowed here, but ${allow}.` }), { allow })
    }

    const operation = (method: string, url: string): string => {
      const path = pathOf(url)
      const wanted = method === "HEAD" ? "GET" : method
      const found =
        path === undefined ? undefined : patterns.find(({ method, pattern }) => method === wanted && pattern.test(path))
      return found?.operation ?? (method === "OPTIONS" ? "OPTIONS" : "unmatched")
    }

    return Routes.of({
      refusal,
      allowed,
      operation,
      isRoutable: (url) => pathOf(url) !== undefined,
      isOfLink: (url) => /^\/(?:view|download)(?:\/|$)/.test(pathOf(url) ?? url)
    })
  })
}

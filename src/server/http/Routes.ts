import { Context, Layer } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { MethodNotAllowed, NotFound } from "../../domain/Problem.ts"

/** The refusal of a request that no route takes; `allow` lists the methods that the address does take. */
export type Refusal = NotFound | (MethodNotAllowed & { readonly allow: string })

/** Tells unknown addresses from known ones that were called with another method. */
export class Routes extends Context.Service<
  Routes,
  {
    readonly refusal: (method: string, url: string) => Refusal
    readonly allowed: (url: string) => ReadonlyArray<string>
  }
>()("agent-memory/server/http/Routes") {
  static readonly layer = Layer.sync(Routes, () => {
    const patterns: Array<{ readonly method: string; readonly pattern: RegExp }> = []
    const add = (method: string, path: string) => {
      const source = path.replaceAll(/:table/g, "[^/_][^/]*").replaceAll(/:[a-z]+/g, "[^/]+")
      patterns.push({ method, pattern: new RegExp(`^${source}$`) })
    }
    HttpApi.reflect(Api, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint }) => add(endpoint.method, endpoint.path)
    })
    for (const path of ["/health", "/ready", "/openapi.json", "/sign-in"]) add("GET", path)
    add("POST", "/sign-in")

    const allowed = (url: string): ReadonlyArray<string> => {
      const path = url.split("?", 1)[0]!
      const methods = patterns.flatMap(({ method, pattern }) => (pattern.test(path) ? [method] : []))
      if (methods.length === 0) return []
      return [...new Set([...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"])]
    }

    const refusal = (method: string, url: string): Refusal => {
      const methods = allowed(url)
      if (methods.length === 0) return new NotFound({ detail: "No operation has this address." })
      const allow = methods.join(", ")
      return Object.assign(new MethodNotAllowed({ detail: `${method} is not allowed here, but ${allow}.` }), { allow })
    }

    return Routes.of({ refusal, allowed })
  })
}

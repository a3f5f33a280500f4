import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { MethodNotAllowed, NotFound } from "../../domain/Problem.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { isProblem, problemResponse, refused, type Problem, type Refusal, type Renderer } from "./RenderProblem.ts"

type Method = "GET" | "POST" | "PATCH" | "DELETE"
type Response = HttpServerResponse.HttpServerResponse

/** Replaces the renderer of problems for one request. */
export type RenderWith = (render: Renderer<Problem>) => void

/** What requests are called in logs, metrics and traces. */
export interface RouteName {
  /** `rows.query`, or the route's method and path. For a method that the path does not allow, the path alone. */
  readonly operation: string
  /** The pattern of the path, such as `/v1/:table`. */
  readonly path: string
}

/** A registered route. */
export interface KnownRoute extends RouteName {
  readonly method: Method
  /** How the route refuses a request before its handler runs. */
  readonly render: Renderer<Problem>
  /** Whether the limit of anonymous requests applies to a GET, as it does to every anonymous POST. */
  readonly isPersonal: boolean
}

/**
 * The path of a URL, with all escapes decoded except those of separators. Undefined if an escape is malformed, a segment is
 * empty, or there is a `;` or `#`: the framework's router takes what follows these for the query, so that `/v1/a;b` would be
 * the table `a`. Only `/mcp` may end with a slash.
 */
export const pathOf = (url: string): string | undefined => {
  const path = url.split("?", 1)[0]!.replace(/^\/mcp\/$/, "/mcp")
  if (/[;#]|\/\/|.\/$/.test(path)) return undefined
  try {
    return decodeURI(path)
  } catch {
    return undefined
  }
}

const patternOf = (path: string): RegExp => {
  const source = path
    .replaceAll(/[.]/g, "\\.")
    .replaceAll("*", ".*")
    .replaceAll(/:table/g, "[^/_][^/]*")
    .replaceAll(/:[a-z]+/g, "[^/]+")
  return new RegExp(`^${source}$`)
}

/** Whether a refusal of a request is shown as a page: a browser sent it, and not to the contract. */
export const wantsPage = ({ headers, url }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["accept"]?.includes("text/html") === true && !url.startsWith("/v1/")

/** The registry of all routes: {@link route} and the contract fill it. */
export class Routes extends Context.Service<Routes>()("agent-memory/server/doors/Routes", {
  make: Effect.sync(() => {
    const routes: Array<KnownRoute & { readonly pattern: RegExp }> = []
    const add = (route: KnownRoute): void => {
      routes.push({ ...route, pattern: patternOf(route.path) })
      // A path with a wildcard is for what no other route matches.
      routes.sort((one, other) => Number(one.path.includes("*")) - Number(other.path.includes("*")))
    }
    HttpApi.reflect(Api, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint: { identifier, method, path }, group }) =>
        add({
          method: method as Method,
          path,
          operation: `${group.identifier}.${identifier}`,
          render: problemResponse,
          isPersonal: false
        })
    })

    const at = (url: string): ReadonlyArray<KnownRoute> => {
      const path = pathOf(url)
      return path === undefined ? [] : routes.filter(({ pattern }) => pattern.test(path))
    }

    const allowed = (url: string): ReadonlyArray<string> => {
      const methods = at(url).map(({ method }) => method)
      if (methods.length === 0) return []
      return [...new Set([...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"])]
    }

    const find = (method: string, url: string): KnownRoute | undefined => {
      const path = pathOf(url)
      const wanted = method === "HEAD" ? "GET" : method
      return path === undefined
        ? undefined
        : routes.find(({ method, pattern }) => method === wanted && pattern.test(path))
    }

    let pageOf: Renderer<Problem> | undefined

    /** Browsers get a page, if the site has one. Below /v1 every response is JSON. */
    const render = (problem: Problem, request: HttpServerRequest.HttpServerRequest) =>
      Effect.map(CurrentRequest, (record) => {
        const renderer = wantsPage(request) ? (pageOf ?? problemResponse) : problemResponse
        return refused(renderer(problem, { request, record }), problem, record)
      })

    return {
      add,
      /** Sets the pages that browsers get for problems outside `/v1`. */
      showErrors: (page: Renderer<Problem>): void => {
        pageOf = page
      },
      /** The response to a problem that no route renders. */
      render,
      /** Every route, for tests. */
      all: (): ReadonlyArray<KnownRoute> => routes,
      find,
      /** The methods that a URL's path allows, for `Allow`; empty without a route. */
      allowed,
      /** Whether a URL's path is well-formed. */
      isRoutable: (url: string): boolean => pathOf(url) !== undefined,
      /** What a request is called in logs, metrics and traces. Contains nothing that its sender wrote. */
      nameOf: (method: string, url: string): RouteName => {
        const found = find(method, url)
        if (found !== undefined) return found
        const path = at(url)[0]?.path ?? "unmatched"
        return { operation: method === "OPTIONS" ? "OPTIONS" : path, path }
      },
      /** The response to a request without a route: 404, or 405 with `Allow`. */
      refuse: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Response> => {
        const methods = allowed(request.url)
        if (methods.length === 0) {
          const problem = request.url.startsWith("/v1/_")
            ? new NotFound({
                detail: "There is nothing at this URL, and no table's name begins with _.",
                hint: "A table's name is a letter and then letters, digits, _ or -. The operations are listed in /openapi.json."
              })
            : new NotFound({ detail: "There is nothing at this URL." })
          return render(problem, request)
        }
        const allow = methods.join(", ")
        const problem = new MethodNotAllowed({ detail: `${request.method} is not allowed here. Allowed: ${allow}.` })
        return Effect.map(render(problem, request), HttpServerResponse.setHeader("allow", allow))
      }
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

/**
 * Adds a route that is not part of the contract to the router and the registry. The handler is interrupted if the database
 * does not respond, and has its own scope, which closes when the response is ready or, if it is a stream, was sent. `render`
 * makes the response to a failure, whose code is logged and whose `Retry-After` is set.
 */
export const route = Effect.fnUntraced(function* <Step extends Effect.Effect<unknown, Refusal, unknown> = never>(
  options: Pick<KnownRoute, "method"> & {
    readonly path: `/${string}`
    /** `METHOD path` by default. */
    readonly operation?: string
    readonly render: Renderer<NoInfer<Effect.Error<Step>> | Problem>
    readonly isPersonal?: boolean
    /** Whether what the handler's scope holds is needed until the response was sent, as by a stream. */
    readonly isStreamed?: boolean
    /** `renderWith` replaces `render` for the problems of this request, once it is known how to show them. */
    readonly handle: (
      request: HttpServerRequest.HttpServerRequest,
      renderWith: RenderWith
    ) => Generator<Step, Response, never>
  }
) {
  const { isPersonal = false, isStreamed = false, method, path, render } = options
  const router = yield* HttpRouter.HttpRouter
  const routes = yield* Routes
  const pulse = yield* DatabasePulse
  routes.add({ method, path, operation: options.operation ?? `${method} ${path}`, render, isPersonal })
  const handle = Effect.fnUntraced(options.handle) as (
    ...args: Parameters<typeof options.handle>
  ) => Effect.Effect<Response, Effect.Error<Step>, Effect.Services<Step>>
  yield* router.add(
    method,
    path,
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      let renderProblem: Renderer<Problem> = render
      const handled = handle(request, (replacement) => {
        renderProblem = replacement
      })
      const answered = Effect.catch(pulse.guard(handled), (failure) =>
        Effect.map(CurrentRequest, (record) => {
          const context = { request, record }
          const response = isProblem(failure) ? renderProblem(failure, context) : render(failure, context)
          return refused(response, failure, record)
        })
      )
      return isStreamed ? answered : Effect.scoped(answered)
    })
  )
})

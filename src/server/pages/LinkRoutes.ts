import { Effect, Layer, Option, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { invalid } from "../../domain/InvalidPlaces.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { MethodNotAllowed, NotFound, RequestTimeout, RequestTooLarge } from "../../domain/Problem.ts"
import { Capacity, noRoom } from "../capacity/Capacity.ts"
import { readSharedBody } from "../capacity/ReadSharedBody.ts"
import { Settings } from "../Config.ts"
import { answer } from "../http/Answer.ts"
import { bytesFault, encodingFault } from "../http/BodyFaults.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { makeGuesses } from "../http/Guesses.ts"
import { renderProblem, type Problem } from "../http/RenderProblem.ts"
import { rateLimited, type RequestClass } from "../keys/Admission.ts"
import { RateLimiter } from "../keys/RateLimiter.ts"
import { LinkContents, linkOver, type LinkContent, type OpenedLink } from "../links/LinkContent.ts"
import { dataText } from "../links/LinkData.ts"
import { attachment, downloadOf } from "../links/LinkDownload.ts"
import { isEditable, LinkEdits, type EditableLink } from "../links/LinkEdits.ts"
import { Links } from "../links/Links.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { Tokens } from "../Tokens.ts"
import { linkGonePage, linkLaterPage, linkLimitedPage, linkOverPage, linkPage } from "./LinkPage.ts"
import { contentSecurityPolicy, privatePageHeaders } from "./Page.ts"

type Response = HttpServerResponse.HttpServerResponse

const html = (text: string, status: number, nonce?: string): Response =>
  HttpServerResponse.text(text, {
    status,
    contentType: "text/html; charset=utf-8",
    headers: { ...privatePageHeaders, "content-security-policy": contentSecurityPolicy({ nonce }) }
  })

const tooManyBodies = noRoom({
  account: "Too much is being saved with links of this account at once.",
  service: "The service reads as many large bodies as it can at the moment."
})

const readOnly = () =>
  Object.assign(new MethodNotAllowed({ detail: "The result of a query is read-only." }), {
    allow: "GET, HEAD, OPTIONS"
  })

/** The page of a link that shows nothing, and why. */
const failurePage = (failure: Problem & { readonly detail?: string | undefined }) =>
  Effect.map(renderProblem(failure), (rendered) => {
    const { status } = failure
    if (status === 503 || status === 429) {
      const seconds = rendered.headers["retry-after"] ?? "1"
      const text = status === 503 ? linkLaterPage() : linkLimitedPage(failure.detail ?? "", seconds)
      return HttpServerResponse.setHeader(html(text, status), "retry-after", seconds)
    }
    return failure.code === "not_found" ? html(linkOverPage(), 404) : html(linkGonePage(failure.detail ?? ""), 404)
  })

/** Adds the row as it is now to the refusal, as exact JSON. */
const withCurrent = (refusal: Response, current: JsonText): Response => {
  const { body } = refusal
  if (body._tag !== "Uint8Array") return refusal
  const text = new TextDecoder().decode(body.body)
  return HttpServerResponse.text(`${text.slice(0, -1)},"current":${current.text}}`, {
    status: refusal.status,
    headers: refusal.headers,
    contentType: "application/problem+json"
  })
}

/**
 * The addresses of links: the page and what its scripts ask for under `/view/{token}`, and the file under
 * `/download/{token}`. Reading changes nothing and may be repeated, as link previews do.
 */
export const LinkRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const links = yield* Links
    const contents = yield* LinkContents
    const edits = yield* LinkEdits
    const limiter = yield* RateLimiter
    const random = yield* SecureRandom.SecureRandom
    const pulse = yield* DatabasePulse
    const capacity = yield* Capacity
    const tokens = yield* Tokens
    const settings = yield* Settings
    const { limits } = settings
    const guess = makeGuesses(settings, "links")
    // White space and escapes make a body larger than the row that it is.
    const saveBytes = Math.min(limits.requestBytes, 4 * limits.rowBytes + 65_536)

    /** The link of an address, once a request of its class was spent of the link and its account. */
    const openedLink = Effect.fnUntraced(function* (side: "viewer" | "download", spends: RequestClass) {
      const { token = "" } = yield* HttpRouter.params
      const found = yield* guess(yield* tokens.hash(token), links.open(token), Option.isSome)
      if (Option.isNone(found) || found.value.isViewer !== (side === "viewer")) return yield* linkOver()
      const link = found.value
      const record = yield* CurrentRequest
      record.accountId = link.accountId
      const verdict = yield* limiter.spend({ accountId: link.accountId, id: link.id, class: spends })
      yield* Metrics.rateLimitVerdict(spends, verdict._tag)
      if (verdict._tag === "Limited") return yield* rateLimited(verdict, "link", "")
      const { incarnation, revision } = verdict
      return { ...link, revision, incarnation } satisfies OpenedLink
    })

    const dataOf = (link: OpenedLink, content: LinkContent) => answer(dataText(link, content, limits.rowBytes))

    /** A route of data: its failures are problems. */
    const route = <E extends Problem, R>(
      spends: RequestClass,
      respond: (link: OpenedLink) => Effect.Effect<Response, E, R>
    ) =>
      Effect.flatMap(openedLink("viewer", spends), respond).pipe(
        pulse.guard,
        Effect.catch(renderProblem),
        Effect.scoped
      )

    /** A route of links whose content has versions: that of a query has none. */
    const ofRow = <E extends Problem, R>(
      spends: RequestClass,
      respond: (link: EditableLink) => Effect.Effect<Response, E, R>
    ) =>
      route(spends, (link): Effect.Effect<Response, E | NotFound, R> =>
        isEditable(link)
          ? respond(link)
          : Effect.fail(new NotFound({ detail: "The result of a query has no versions." }))
      )

    const bodyText = Effect.fnUntraced(function* (link: OpenedLink, maxBody: number) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const compressed = encodingFault(request.headers)
      if (compressed !== undefined) return yield* compressed
      const tooLarge = () => new RequestTooLarge({ detail: `The body may have ${maxBody} bytes.`, limit: maxBody })
      if (Number(request.headers["content-length"] ?? 0) > maxBody) return yield* tooLarge()
      const bytes = yield* readSharedBody(request, maxBody, link, capacity.bodies, capacity).pipe(
        Effect.catchTags({
          Busy: (busy) => Effect.fail(tooManyBodies(busy)),
          BodyFault: ({ fault }) =>
            Effect.fail(
              fault === "too large"
                ? tooLarge()
                : fault === "late"
                  ? new RequestTimeout({ detail: "The rest of the body did not arrive in time." })
                  : invalid("", "ended early")
            )
        })
      )
      const fault = bytesFault(request.headers, bytes)
      if (fault !== undefined) return yield* fault
      return Buffer.from(bytes).toString("utf8")
    })

    yield* router.add(
      "GET",
      "/view/:token",
      Effect.gen(function* () {
        const link = yield* openedLink("viewer", "read")
        const content = yield* contents.read(link)
        const { token } = yield* HttpRouter.params
        const nonce = Buffer.from(yield* Effect.orDie(random.randomBytes(16))).toString("base64")
        return html(linkPage(link, content, `/view/${token}`, nonce), 200, nonce)
      }).pipe(pulse.guard, Effect.catch(failurePage), Effect.scoped)
    )

    yield* router.add(
      "GET",
      "/view/:token/data",
      route("read", (link) => Effect.map(contents.read(link), (content) => dataOf(link, content)))
    )

    /** People follow these addresses too, so that a browser gets a refusal as a page. */
    const file = (side: "viewer" | "download") =>
      Effect.gen(function* () {
        const link = yield* openedLink(side, "read")
        const { body, contentType, name } = downloadOf(yield* contents.read(link))
        const headers = { "content-disposition": attachment(name) }
        return HttpServerResponse.uint8Array(Buffer.from(body), { contentType, headers })
      }).pipe(
        pulse.guard,
        Effect.catch((failure) =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
            headers["accept"]?.includes("text/html") === true ? failurePage(failure) : renderProblem(failure)
          )
        ),
        Effect.scoped
      )
    yield* router.add("GET", "/view/:token/download", file("viewer"))
    yield* router.add("GET", "/download/:token", file("download"))

    yield* router.add(
      "GET",
      "/view/:token/versions",
      ofRow("read", (link) => Effect.map(edits.history(link), (versions) => answer(versions)))
    )

    yield* router.add(
      "PATCH",
      "/view/:token",
      route(
        "write",
        Effect.fnUntraced(function* (link) {
          if (!isEditable(link)) return yield* Effect.fail(readOnly())
          const saved = yield* Effect.result(edits.save(link, yield* bodyText(link, saveBytes)))
          if (Result.isSuccess(saved)) return dataOf(link, saved.success)
          if (saved.failure._tag !== "EditConflict") return yield* saved.failure
          const content = yield* contents.read(link)
          return withCurrent(yield* renderProblem(saved.failure), dataText(link, content, limits.rowBytes))
        })
      )
    )

    yield* router.add(
      "POST",
      "/view/:token/restore",
      ofRow("write", (link) =>
        bodyText(link, limits.authRequestBytes).pipe(
          Effect.flatMap((body) => edits.restore(link, body)),
          Effect.map((content) => dataOf(link, content))
        )
      )
    )
  })
).pipe(Layer.provide(Tokens.layer))

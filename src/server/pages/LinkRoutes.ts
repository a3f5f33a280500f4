import { Effect, Layer, Option, Result } from "effect"
import { HttpRouter, HttpServerResponse, type HttpServerRequest } from "effect/http"
import type { Actor, Moment } from "../../domain/Actor.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { NotFound, StorageLimit } from "../../domain/Problem.ts"
import { inTurns } from "../../domain/Turns.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { Settings } from "../config/Settings.ts"
import { answer } from "../capacity/SendResponse.ts"
import { readText } from "../doors/Bodies.ts"
import { CurrentRequest } from "../doors/CurrentRequest.ts"
import { makeGuesses } from "../doors/FloodLimit.ts"
import {
  problemResponse,
  renderMethodNotAllowed,
  renderProblem,
  type Problem,
  type Renderer
} from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import { rateLimited, type RequestClass } from "../keys/Admission.ts"
import { RateLimiter } from "../keys/RateLimiter.ts"
import { LinkContents, linkExpired, type EditableContent, type OpenedLink } from "../links/LinkContent.ts"
import { attachment, dataText, downloadOf, rowDownload } from "../links/LinkDownload.ts"
import { isEditable, LinkEdits } from "../links/LinkEdits.ts"
import { Links, type FoundLink } from "../links/Links.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { askedBy, failurePage } from "./ErrorPages.ts"
import { makeLinkForms } from "./LinkForms.ts"
import { queryPage, queryRowPage } from "./LinkQueryPage.ts"
import { privatePage } from "./PrivatePage.ts"

type Response = HttpServerResponse.HttpServerResponse

const renderReadOnly = renderMethodNotAllowed("The result of a query is read-only.", "GET, HEAD, OPTIONS")

/** The actor of a link: it reaches the link's table only, and changes rows only if the link may. */
const actorOf = (link: FoundLink, { incarnation, now, revision }: Moment): Actor => ({
  accountId: link.accountId,
  kind: "link",
  id: link.id,
  name: link.makerName,
  access: { readOnly: !isEditable(link), tables: [link.target.table] },
  now,
  revision,
  incarnation
})

/** Renders failures of a link's data. What the account stores is not shown to someone who has only a link into it. */
const renderData: Renderer<Problem> = (failure, refused) =>
  failure instanceof StorageLimit
    ? problemResponse(failure, refused, { detail: "The account has no room for a longer text.", current: undefined })
    : problemResponse(failure, refused)

/** People follow these addresses too, so browsers get a refusal as a page. */
const renderFile: Renderer<Problem> = (failure, refused) =>
  refused.request.headers["accept"]?.includes("text/html") === true
    ? failurePage(failure, refused)
    : problemResponse(failure, refused)

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
export const LinkRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const links = yield* Links
    const contents = yield* LinkContents
    const edits = yield* LinkEdits
    const limiter = yield* RateLimiter
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
      if (Option.isNone(found) || found.value.isViewer !== (side === "viewer")) return yield* linkExpired()
      const link = found.value
      const record = yield* CurrentRequest
      record.accountId = link.accountId
      const verdict = yield* limiter.spend({ accountId: link.accountId, id: link.id, class: spends })
      yield* Metrics.rateLimitVerdict(spends, verdict._tag)
      if (verdict._tag === "Limited") return yield* rateLimited(verdict, "link", "")
      return { ...link, actor: actorOf(link, verdict) } satisfies OpenedLink
    })

    const dataOf = (link: OpenedLink, content: EditableContent) => answer(dataText(link, content, limits.rowBytes))

    const editableContent = Effect.fnUntraced(function* (link: OpenedLink) {
      const content = yield* contents.read(link)
      if (content.kind !== "query") return content
      return yield* new NotFound({ detail: "The result of a query is in its download." })
    })

    const bodyText = (request: HttpServerRequest.HttpServerRequest, link: OpenedLink, limit: number) =>
      readText(request, limit, { sender: link, capacity })

    const forms = yield* makeLinkForms(openedLink)

    yield* route({
      method: "GET",
      path: "/view/:token",
      operation: "links.view",
      render: failurePage,
      *handle(request) {
        const link = yield* openedLink("viewer", "read")
        const { token } = yield* HttpRouter.params
        const path = `/view/${token}`
        const { cursor, row: id, view } = askedBy(request)
        const { actor, target } = link
        if (target.kind === "query" && id !== undefined) {
          const row = yield* contents.row({ actor, target }, id)
          return privatePage(queryRowPage({ link, table: target.table, id, row, path, view, cursor }))
        }
        const content = yield* contents.read(link, cursor)
        if (content.kind === "query") {
          const count = yield* contents.count({ actor, target: content.target })
          return privatePage(yield* inTurns(queryPage({ link, content, count, path, view, cursor })))
        }
        return isEditable(link) ? yield* forms.show(link, content, request) : yield* linkExpired()
      }
    })

    yield* route({
      method: "GET",
      path: "/view/:token/data",
      operation: "links.data",
      render: renderData,
      *handle() {
        const link = yield* openedLink("viewer", "read")
        return dataOf(link, yield* editableContent(link))
      }
    })

    const download = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      side: "viewer" | "download"
    ) {
      const link = yield* openedLink(side, "read")
      const { cursor, row } = askedBy(request)
      const { body, contentType, name } =
        link.target.kind === "query" && row !== undefined
          ? rowDownload(link.target.table, row, yield* contents.row({ actor: link.actor, target: link.target }, row))
          : downloadOf(yield* contents.read(link, cursor))
      return HttpServerResponse.text(body, { contentType, headers: { "content-disposition": attachment(name) } })
    })
    yield* route({
      method: "GET",
      path: "/view/:token/download",
      operation: "links.downloadViewed",
      render: renderFile,
      *handle(request) {
        return yield* download(request, "viewer")
      }
    })
    yield* route({
      method: "GET",
      path: "/download/:token",
      operation: "links.download",
      render: renderFile,
      *handle(request) {
        return yield* download(request, "download")
      }
    })

    /** A link whose content has versions: the result of a query has none. */
    const versionedLink = Effect.fnUntraced(function* (spends: RequestClass) {
      const link = yield* openedLink("viewer", spends)
      if (!isEditable(link)) return yield* new NotFound({ detail: "The result of a query has no versions." })
      return link
    })

    yield* route({
      method: "GET",
      path: "/view/:token/versions",
      operation: "links.versions",
      render: renderData,
      *handle() {
        return answer(yield* edits.history(yield* versionedLink("read")))
      }
    })

    yield* route({
      method: "PATCH",
      path: "/view/:token",
      operation: "links.save",
      render: renderData,
      *handle(request) {
        const link = yield* openedLink("viewer", "write")
        if (!isEditable(link)) return yield* renderReadOnly
        const saved = yield* Effect.result(edits.save(link, yield* bodyText(request, link, saveBytes)))
        if (Result.isSuccess(saved)) return dataOf(link, saved.success)
        if (saved.failure._tag !== "EditConflict") return yield* saved.failure
        const content = yield* editableContent(link)
        return withCurrent(yield* renderProblem(saved.failure), dataText(link, content, limits.rowBytes))
      }
    })

    yield* route({
      method: "POST",
      path: "/view/:token/restore",
      operation: "links.restore",
      render: renderData,
      *handle(request) {
        const link = yield* versionedLink("write")
        const body = yield* bodyText(request, link, limits.authRequestBytes)
        const { content } = yield* edits.restore(link, body)
        return dataOf(link, content)
      }
    })
  })
).pipe(Layer.provide(Tokens.layer))

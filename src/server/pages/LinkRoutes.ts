import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerResponse, type HttpServerRequest } from "effect/http"
import type { Actor, Moment } from "../../domain/Actor.ts"
import { StorageLimit } from "../../domain/Problem.ts"
import { inTurns } from "../../domain/Turns.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { Settings } from "../config/Settings.ts"
import { answer } from "../capacity/SendResponse.ts"
import { readText } from "../doors/Bodies.ts"
import { CurrentRequest } from "../doors/CurrentRequest.ts"
import { makeGuesses } from "../doors/FloodLimit.ts"
import { problemResponse, renderMethodNotAllowed, type Problem, type Renderer } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import { rateLimited, type RequestClass } from "../keys/Admission.ts"
import { RateLimiter } from "../keys/RateLimiter.ts"
import {
  attachment,
  downloadOf,
  LinkContents,
  linkExpired,
  rowDownload,
  type OpenedLink
} from "../links/LinkContent.ts"
import { isEditable, LinkEdits } from "../links/LinkEdits.ts"
import { Links, type FoundLink } from "../links/Links.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { askedBy, failurePage } from "./ErrorPages.ts"
import { makeLinkForms } from "./LinkForms.ts"
import { queryPage, queryRowPage } from "./LinkQueryPage.ts"
import { privatePage } from "./PrivatePage.ts"

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

/** Renders failures of a save. What the account stores is not shown to someone who has only a link into it. */
const renderSave: Renderer<Problem> = (failure, refused) =>
  failure instanceof StorageLimit
    ? problemResponse(failure, refused, { detail: "The account has no room for a longer text.", current: undefined })
    : problemResponse(failure, refused)

/** People follow these addresses too, so browsers get a refusal as a page. */
const renderFile: Renderer<Problem> = (failure, refused) =>
  refused.request.headers["accept"]?.includes("text/html") === true
    ? failurePage(failure, refused)
    : problemResponse(failure, refused)

/**
 * The addresses of links: the page and the save of programs at `/view/{token}`, and the file under `/download/{token}`. Reading changes nothing and may be repeated, as link previews do.
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

    yield* route({
      method: "PATCH",
      path: "/view/:token",
      operation: "links.save",
      render: renderSave,
      *handle(request) {
        const link = yield* openedLink("viewer", "write")
        if (!isEditable(link)) return yield* renderReadOnly
        const body = yield* readText(request, saveBytes, { sender: link, capacity })
        return answer(yield* edits.save(link, body))
      }
    })
  })
).pipe(Layer.provide(Tokens.layer))

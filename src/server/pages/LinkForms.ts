import { Effect, Result, type Scope } from "effect"
import { HttpRouter, type HttpServerRequest } from "effect/http"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { FieldNotFound, FieldNotText } from "../../domain/Problem.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { Settings } from "../config/Settings.ts"
import { readForm } from "../doors/Bodies.ts"
import type { Problem, Renderer } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import { isCrossSite } from "../accounts/browser/Sessions.ts"
import type { RequestClass } from "../keys/Admission.ts"
import { contentOf, fieldOf, linkExpired, type EditableContent, type OpenedLink } from "../links/LinkContent.ts"
import { isEditable, LinkEdits, type EditableLink } from "../links/LinkEdits.ts"
import { Versions } from "../versions/Versions.ts"
import { makeRowSaves, type Saved } from "./console/RowSaves.ts"
import { changedQuery, resultOf, undoAt, viewOf, type EditedText, type View } from "./console/RowViews.ts"
import { rowFormBytes } from "./console/TablesRoutes.ts"
import { failurePage } from "./ErrorPages.ts"
import { linkConflictPage, linkPage, linkPlace, linkTextPage } from "./LinkPage.ts"
import { crossSitePage } from "./Page.ts"
import { pageRenderer, privatePage, queryOf, RefusalPage, refusalPage, seeOther, withEditor } from "./PrivatePage.ts"

type Request = HttpServerRequest.HttpServerRequest
type Refused = Extract<Saved, { readonly _tag: "Refused" }>

/** Opens the link of an address, once a request of its class was spent. */
type Open = (
  side: "viewer",
  spends: RequestClass
) => Effect.Effect<OpenedLink, Problem, HttpRouter.RouteContext | HttpServerRequest.HttpServerRequest>

/** Forms that can't be read say so; else a form fails as the link's page does. */
const renderForm: Renderer<Problem | RefusalPage> = (failure, refused) =>
  failure instanceof RefusalPage || [400, 408, 413, 415].includes(failure.status)
    ? pageRenderer(refused.request.url)(failure, refused)
    : failurePage(failure, refused)

const pathOf = Effect.map(HttpRouter.params, ({ token }) => `/view/${token}`)

/**
 * The forms of a link's row or text, and the pages that they are on. A form needs no proof of its own: its address has the
 * link's token, which no other site knows.
 */
export const makeLinkForms = Effect.fnUntraced(function* (open: Open) {
  const versions = yield* Versions
  const edits = yield* LinkEdits
  const capacity = yield* Capacity
  const saves = yield* makeRowSaves
  const { limits } = yield* Settings
  const bytes = rowFormBytes(limits)

  type Said = Pick<Parameters<typeof linkPage>[0], "result" | "problem" | "unsaved">
  const pageOf = Effect.fnUntraced(function* (
    link: EditableLink,
    content: EditableContent,
    view: View,
    { query, ...said }: Said & { readonly query?: URLSearchParams } = {}
  ) {
    const path = yield* pathOf
    const needsVersions = view === "history" || query?.has("changed") === true
    const history = needsVersions ? yield* versions.read(link.actor, content.table, content.row.id) : { versions: [] }
    const { row } = content
    const undo = query && undoAt(linkPlace(link, path), { row, versions: history.versions }, query)
    const result = resultOf(query?.get("done") ?? null, undo)
    const status = said.problem === undefined ? 200 : 400
    return withEditor((nonce) =>
      privatePage(linkPage({ link, content, path, view, nonce, result, ...history, ...said }), status)
    )
  }, Effect.scoped)

  /** The page of a link to a row or a text, as its address asks for it. */
  const show = (link: EditableLink, content: EditableContent, request: Request) => {
    const query = queryOf(request)
    return pageOf(link, content, viewOf(query.get("view")), { query })
  }

  const editable = Effect.fnUntraced(function* (spends: RequestClass) {
    const link = yield* open("viewer", spends)
    return isEditable(link) ? link : yield* linkExpired()
  })

  const textPageOf = Effect.fnUntraced(function* (link: EditableLink, edited: EditedText, problem?: string) {
    const path = yield* pathOf
    const status = problem === undefined ? 200 : 400
    return withEditor((nonce) => privatePage(linkTextPage({ link, edited, path, nonce, problem }), status))
  })

  const textOf = Effect.fnUntraced(function* (link: EditableLink, name: string) {
    const row = yield* edits.row(link)
    const field = link.target.kind === "row" ? fieldOf(row, name) : undefined
    if (field === undefined) return yield* new FieldNotFound({ detail: "The row has no such field." })
    if (field.value[0] !== '"') return yield* new FieldNotText({ detail: "The field is not text." })
    return { row, name, text: decodeString(field.value) }
  })

  yield* route({
    method: "GET",
    path: "/view/:token/_text",
    render: failurePage,
    *handle(request) {
      const link = yield* editable("read")
      return yield* textPageOf(link, yield* textOf(link, queryOf(request).get("field") ?? ""))
    }
  })

  /** The page of a form that was not carried out, with what was typed. */
  const again = Effect.fnUntraced(function* (link: EditableLink, refused: Refused, field: string | null) {
    const { problem, unsaved, view } = refused
    const row = yield* edits.row(link)
    if (view === "text" && link.target.kind === "row")
      return yield* textPageOf(link, { row, name: field ?? "", text: "", unsaved }, problem)
    const content = yield* Effect.fromResult(contentOf(link.target, row))
    return yield* pageOf(link, content, view === "text" ? "fields" : view, { problem, unsaved })
  })

  type Act = (
    link: EditableLink,
    fields: URLSearchParams,
    path: string
  ) => Effect.Effect<
    ReturnType<typeof privatePage>,
    Problem,
    HttpRouter.RouteContext | HttpServerRequest.HttpServerRequest | Scope.Scope
  >
  const form = (suffix: "" | `/_${string}`, most: number, act: Act) =>
    route({
      method: "POST",
      path: `/view/:token${suffix}`,
      render: renderForm,
      *handle(request) {
        if (isCrossSite(request)) return yield* refusalPage({ code: "invalid_request", status: 403 }, crossSitePage())
        const link = yield* editable("write")
        const fields = yield* readForm(request, most, { sender: link, capacity })
        return yield* act(link, fields, yield* pathOf)
      }
    })

  /** A form that saves a row in one way; those of a whole row are not there for one text of it. */
  const saving = (
    suffix: "" | `/_${string}`,
    most: number,
    save: (typeof saves)[keyof typeof saves],
    ofTexts: boolean
  ) =>
    form(
      suffix,
      most,
      Effect.fnUntraced(function* (link, fields, path) {
        const { actor, target } = link
        if (target.kind === "text" && !ofTexts) return yield* linkExpired()
        const textField = target.kind === "text" ? target.field : undefined
        const saved = yield* save({ actor, table: target.table, row: yield* edits.row(link), textField }, fields)
        switch (saved._tag) {
          case "Stored":
            return seeOther(`${path}?done=saved${changedQuery(saved.write?.updatedAt)}`)
          case "Conflict":
            return withEditor((nonce) => privatePage(linkConflictPage(link, path, saved, nonce), 409))
          case "Refused":
            return yield* again(link, saved, fields.get("field"))
        }
      })
    )

  yield* saving("", bytes, saves.byFields, false)
  yield* saving("/_json", bytes, saves.byJson, false)
  yield* saving("/_text", bytes, saves.byText, true)
  yield* saving("/_merge", 2 * bytes, saves.byChoices, true)

  yield* form(
    "/_restore",
    limits.authRequestBytes,
    Effect.fnUntraced(function* (link, fields, path) {
      const version = Number(/^\d{1,9}$/.exec(fields.get("version") ?? "")?.[0] ?? 0)
      const restored = yield* Effect.result(edits.restore(link, version))
      if (Result.isSuccess(restored)) {
        const { change, content } = restored.success
        return seeOther(
          `${path}?done=restored${changedQuery(change === undefined ? undefined : content.row.updatedAt)}`
        )
      }
      const { failure } = restored
      if (failure._tag !== "VersionNotFound" && failure.status !== 413) return yield* failure
      const content = yield* Effect.fromResult(contentOf(link.target, yield* edits.row(link)))
      const problem = failure._tag === "VersionNotFound" ? failure.detail : "The account has no room for this."
      return yield* pageOf(link, content, "history", { problem: problem ?? "Nothing was restored." })
    })
  )

  return { show }
})

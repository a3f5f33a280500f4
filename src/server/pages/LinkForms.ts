import { Effect, Result, type Scope } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { FieldNotFound, FieldNotText } from "../../domain/Problem.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { Settings } from "../config/Settings.ts"
import { readForm } from "../doors/Bodies.ts"
import type { Problem, Renderer } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import type { RequestClass } from "../keys/Admission.ts"
import { contentOf, fieldOf, linkExpired, type EditableContent, type OpenedLink } from "../links/LinkContent.ts"
import { isEditable, LinkEdits, type EditableLink } from "../links/LinkEdits.ts"
import { Versions } from "../versions/Versions.ts"
import { makeRowSaves, type Refused } from "./console/RowSaves.ts"
import { changedQuery, resultOf, undoAt, viewOf, type View } from "./console/RowViews.ts"
import { rowFormBytes } from "./console/TablesRoutes.ts"
import { failurePage } from "./ErrorPages.ts"
import { linkConflictPage, linkPage, linkPlace, linkTextPage } from "./LinkPage.ts"
import { pageRenderer, queryOf, RefusalPage, refuseCrossSite, seeOther } from "./PrivatePage.ts"

type Request = HttpServerRequest.HttpServerRequest

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
    return linkPage({ link, content, path, view, result, ...history, ...said })
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

  yield* route({
    method: "GET",
    path: "/view/:token/_text",
    render: failurePage,
    *handle(request) {
      const link = yield* editable("read")
      const row = yield* edits.row(link)
      const name = queryOf(request).get("field") ?? ""
      const field = link.target.kind === "row" ? fieldOf(row, name) : undefined
      if (field === undefined) return yield* new FieldNotFound({ detail: "The row has no such field." })
      if (field.value[0] !== '"') return yield* new FieldNotText({ detail: "The field is not text." })
      return linkTextPage(link, { row, name, text: decodeString(field.value) }, yield* pathOf)
    }
  })

  /** The page of a form that was not carried out, with what was typed. */
  const again = Effect.fnUntraced(function* (link: EditableLink, refused: Refused, field: string | null) {
    const { problem, unsaved, view } = refused
    const row = yield* edits.row(link)
    if (view === "text" && link.target.kind === "row") {
      return linkTextPage(link, { row, name: field ?? "", text: "", unsaved }, yield* pathOf, problem)
    }
    const content = yield* Effect.fromResult(contentOf(link.target, row))
    return yield* pageOf(link, content, view === "text" ? "fields" : view, { problem, unsaved })
  })

  type Act = (
    link: EditableLink,
    fields: URLSearchParams,
    path: string
  ) => Generator<
    Effect.Effect<unknown, Problem, HttpRouter.RouteContext | HttpServerRequest.HttpServerRequest | Scope.Scope>,
    HttpServerResponse.HttpServerResponse,
    unknown
  >
  const form = (suffix: "" | `/_${string}`, most: number, act: Act) =>
    route({
      method: "POST",
      path: `/view/:token${suffix}`,
      render: renderForm,
      *handle(request) {
        yield* refuseCrossSite(request)
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
    form(suffix, most, function* (link, fields, path) {
      const { actor, target } = link
      if (target.kind === "text" && !ofTexts) return yield* linkExpired()
      const textField = target.kind === "text" ? target.field : undefined
      const saved = yield* save({ actor, table: target.table, row: yield* edits.row(link), textField }, fields)
      switch (saved._tag) {
        case "Stored":
          return seeOther(`${path}?done=saved${changedQuery(saved.write?.updatedAt)}`)
        case "Conflict":
          return linkConflictPage(link, path, saved)
        case "Refused":
          return yield* again(link, saved, fields.get("field"))
      }
    })

  yield* saving("", bytes, saves.byFields, false)
  yield* saving("/_json", bytes, saves.byJson, false)
  yield* saving("/_text", bytes, saves.byText, true)
  yield* saving("/_merge", 2 * bytes, saves.byChoices, true)

  yield* form("/_restore", limits.authRequestBytes, function* (link, fields, path) {
    const version = Number(/^\d{1,9}$/.exec(fields.get("version") ?? "")?.[0] ?? 0)
    const restored = yield* Effect.result(edits.restore(link, version))
    if (Result.isSuccess(restored)) {
      const { change, content } = restored.success
      return seeOther(`${path}?done=restored${changedQuery(change && content.row.updatedAt)}`)
    }
    const { failure } = restored
    if (failure._tag !== "VersionNotFound" && failure.status !== 413) return yield* failure
    const content = yield* Effect.fromResult(contentOf(link.target, yield* edits.row(link)))
    const problem = failure._tag === "VersionNotFound" ? failure.detail : "The account has no room for this."
    return yield* pageOf(link, content, "history", { problem: problem ?? "Nothing was restored." })
  })

  return { show }
})

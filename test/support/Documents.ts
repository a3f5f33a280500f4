import { Context, Effect, Layer } from "effect"
import { DocumentFetcher, FetchFailed, type FetchedDocument } from "../../src/server/oauth/ClientDocuments.ts"

/** An answer to a fetch; JSON and 200 unless it says otherwise. */
export interface FixtureAnswer {
  readonly document: unknown
  readonly status?: number
  readonly contentType?: string
  readonly cacheControl?: string
}

/** The document by which Claude Code says who it is. */
export const claudeCode = {
  client_id: "https://claude.ai/oauth/claude-code-client-metadata",
  client_name: "Claude Code",
  client_uri: "https://claude.ai",
  redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none"
}

/** What addresses answer in tests. An address without an answer cannot be reached; a string is why it fails. */
export class Documents extends Context.Service<
  Documents,
  {
    readonly answers: Map<string, FixtureAnswer | string>
    /** The addresses that were fetched, in their order. */
    readonly fetched: Array<string>
  }
>()("agent-memory/test/support/Documents") {}

const fetchedFrom = (answer: FixtureAnswer): FetchedDocument => ({
  status: answer.status ?? 200,
  contentType: answer.contentType ?? "application/json",
  cacheControl: answer.cacheControl ?? "",
  body: Buffer.from(typeof answer.document === "string" ? answer.document : JSON.stringify(answer.document))
})

/** Fetches nothing, but gives what {@link Documents} holds: at first the document of Claude Code. */
export const DocumentsLayer = Layer.effectContext(
  Effect.sync(() => {
    const answers = new Map<string, FixtureAnswer | string>([[claudeCode.client_id, { document: claudeCode }]])
    const fetched: Array<string> = []
    const fetch = (url: URL) =>
      Effect.suspend(() => {
        fetched.push(url.href)
        const answer = answers.get(url.href) ?? "its host could not be reached"
        return typeof answer === "string"
          ? Effect.fail(new FetchFailed({ reason: answer }))
          : Effect.succeed(fetchedFrom(answer))
      })
    return Context.make(DocumentFetcher, { fetch }).pipe(Context.add(Documents, { answers, fetched }))
  })
)

import { Context, Data, type Effect } from "effect"

/** What an address answered. */
export interface FetchedDocument {
  readonly status: number
  readonly contentType: string
  readonly cacheControl: string
  readonly body: Uint8Array
}

/** Nothing was fetched. The reason is for people, to follow "The document could not be used: ". */
export class FetchFailed extends Data.TaggedError("FetchFailed")<{ readonly reason: string }> {}

/** Gets what an https address answers, without following redirects. */
export class DocumentFetcher extends Context.Service<
  DocumentFetcher,
  { readonly fetch: (url: URL, maxBytes: number) => Effect.Effect<FetchedDocument, FetchFailed> }
>()("agent-memory/server/oauth/DocumentFetcher") {}

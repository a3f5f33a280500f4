import { HttpServerResponse } from "effect/http"

const streamType = "text/event-stream"
const dataField = "data: "

/** How a client wants its answer: as an event stream where one is due, or as JSON, which is an array for a batch. */
export type Form = "stream" | "message" | "batch"

/** Whoever does not say that it takes event streams gets JSON. */
export const formFor = (accept: string | undefined, isBatch: boolean): Form =>
  accept?.toLowerCase().includes(streamType) ? "stream" : isBatch ? "batch" : "message"

// Lines end with a line feed alone here: JSON may hold other separators of lines as they are.
const messagesOf = (events: string): ReadonlyArray<string> =>
  events.split("\n").flatMap((line) => (line.startsWith(dataField) ? [line.slice(dataField.length)] : []))

/** An answer as it goes out: whole, so that no client holds a stream open, and in the client's form. */
export const delivered = (response: Response, text: string, form: Form): HttpServerResponse.HttpServerResponse => {
  const headers = Object.fromEntries(response.headers)
  // The connection is the server's own business, which ends those of a service that stops.
  delete headers["connection"]
  const { status } = response
  const contentType = headers["content-type"]
  if (contentType === undefined) return HttpServerResponse.empty({ status, headers })
  if (form === "stream" || !contentType.startsWith(streamType)) {
    return HttpServerResponse.text(text, { status, headers, contentType })
  }
  const json = messagesOf(text).join()
  return HttpServerResponse.text(form === "batch" ? `[${json}]` : json, { status, contentType: "application/json" })
}

import { HttpServerResponse } from "effect/http"
import type { JsonText } from "../../domain/json/JsonText.ts"

/** A JSON answer whose text is complete: nothing parses or prints it again. */
export const answer = (body: JsonText, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(body.text, { status, contentType: "application/json" })

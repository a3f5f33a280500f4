import { Effect } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { isCrossSite } from "../http/FormProof.ts"
import { readForm } from "../http/ReadForm.ts"
import { privatePage } from "./PrivatePage.ts"
import { crossSitePage, unreadFormPage } from "./SignInNotices.ts"

/** Reads a form that one of our own pages sent; fails with the page to show instead. */
export const readPageForm = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<URLSearchParams, HttpServerResponse.HttpServerResponse> =>
  isCrossSite(request)
    ? Effect.fail(privatePage(crossSitePage(), 403))
    : Effect.mapError(readForm(request, limit), (failure) => {
        if (failure._tag === "NotAForm") return privatePage(unreadFormPage("unreadable"), 415)
        switch (failure.fault) {
          case "late":
            // What still comes of the body is nobody's request.
            return HttpServerResponse.setHeader(privatePage(unreadFormPage("late"), 408), "connection", "close")
          case "too large":
            return privatePage(unreadFormPage("too large"), 413)
          case "incomplete":
            return privatePage(unreadFormPage("unreadable"), 400)
        }
      })

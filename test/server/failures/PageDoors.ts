import { form, formWorst, isValue, json, jsonWorst, queryBytes, queryWorst, type Door, type Expects } from "./Doors.ts"

const refusedWith =
  (...codes: ReadonlyArray<string>): Expects =>
  () =>
    codes

const legal: Expects = () => "legal"

const expectedOfEdit: Expects = (shape) =>
  shape === "an endless depth" ? ["too_deep"] : ["invalid_request", "row_too_large"]

/** Names may be long, and what the service does not use is passed over and shown to the app (RFC 7591 section 2). */
const expectedOfRegistration: Expects = (shape, place) => {
  if (shape === "an endless depth") return ["invalid_client_metadata"]
  if (place === "/scope" || place === "/unknown") return "legal"
  if (place === "/client_name" && (shape === "a long text" || shape === "escapes")) return "legal"
  return ["invalid_client_metadata", "invalid_redirect_uri"]
}

const unfollowed = "This app's request can't be followed"

/** Who is led back to the app is told there what is wrong; who may be led astray is told on a page. */
const expectedOfAuthorization: Expects = (shape, place) => {
  if (!isValue(shape) || shape === "empty parameters") return [unfollowed]
  switch (place) {
    case "client_id":
      return ["This app is not known here"]
    case "redirect_uri":
      return [unfollowed]
    case "resource":
      return ["invalid_target"]
    case "code_challenge":
      return ["invalid_request"]
    default:
      return "legal"
  }
}

/** The pages of a link, where a row is edited, and their title. */
export const linkDoors = (viewer: string, query: string, title: string): ReadonlyArray<Door> => {
  const row = '{"updated_at":"2026-11-27T20:07:59.549Z","row":{"n":1}}'
  const patch = '{"updated_at":"2026-11-27T20:07:59.549Z","patch":{"n":1}}'
  const restore = `${viewer}/_restore`
  return [
    ...[row, patch].map((sample): Door => ({
      name: "save",
      method: "PATCH",
      path: viewer,
      headers: json,
      worst: jsonWorst(viewer, [sample], expectedOfEdit)
    })),
    {
      name: "/_restore",
      method: "POST",
      path: restore,
      headers: form,
      limit: 16_384,
      // With two of the shapes, the version is a good one.
      worst: formWorst(restore, ["version"], {}, (shape) =>
        shape === "many parameters" || shape === "empty parameters" ? "legal" : [title]
      )
    },
    ...[viewer, `${viewer}?view=history`, `${viewer}/download`, query].map((path): Door => ({
      name: path.replace(/[\w-]{30,}/, "…"),
      method: "GET",
      path,
      headers: {},
      limit: queryBytes,
      // They take none, and what trackers add to a link that was sent on is passed over.
      worst: queryWorst(path, ["limit", "unknown"], legal)
    }))
  ]
}

/** What a person and an app have: forms that the person was shown, and a request that the app may make. */
export interface Visitor {
  /** Of a session, and of a sign-in that waits for its code. */
  readonly cookie: string
  /** Of the form on the page of connected apps. */
  readonly proof: string
  readonly clientId: string
  /** What the app asks /authorize for, and the proof of the page that is shown then. */
  readonly asked: Readonly<Record<string, string>>
  readonly askedProof: string
}

/** What browsers and OAuth clients send before anybody is signed in, and after that with a session's cookie. */
export const publicDoors = ({ asked, askedProof, clientId, cookie, proof }: Visitor): ReadonlyArray<Door> => {
  const tokenFields = { grant_type: "authorization_code", client_id: clientId, code: "c", code_verifier: "v" }
  const authorize = `/authorize?${new URLSearchParams(asked).toString().replaceAll("+", "%20")}`
  const forms: ReadonlyArray<
    readonly [path: string, names: ReadonlyArray<string>, fields: Readonly<Record<string, string>>, expects: Expects]
  > = [
    [
      "/token",
      ["grant_type", "code", "scope", "resource"],
      tokenFields,
      refusedWith("invalid_request", "invalid_grant", "unsupported_grant_type", "invalid_target", "invalid_scope")
    ],
    // Who revokes what there is none of has what he wants (RFC 7009 section 2.2).
    ["/revoke", ["token"], { client_id: clientId }, (shape) => (isValue(shape) ? "legal" : ["invalid_request"])],
    ["/sign-in", ["token"], {}, refusedWith("Not a sign-in link")],
    [
      "/sign-in/email",
      ["email", "return_to"],
      { email: "nobody@example.com", return_to: "/apps" },
      (_, place) => [place === "email" ? "Sign in" : "This sign-in has no destination"]
    ],
    ["/sign-in/code", ["code"], {}, refusedWith("Enter the code")],
    ["/sign-out", ["proof"], {}, refusedWith("Nothing was changed")],
    ["/apps", ["proof", "id"], { proof }, (_, place) => (place === "id" ? "legal" : ["Nothing was changed"])],
    [
      authorize,
      ["proof", "decision", "tables"],
      { proof: askedProof, decision: "allow", access: "full" },
      (_, place) =>
        // Which tables are named says nothing where all of them are allowed.
        place === "tables" ? "legal" : [place === "proof" ? "This form is not the one you were shown" : "access_denied"]
    ]
  ]
  const registration = '{"client_name":"c","redirect_uris":["http://127.0.0.1/callback"],"scope":"agent-memory"}'
  const pages: ReadonlyArray<readonly [path: string, names: ReadonlyArray<string>, expects: Expects]> = [
    ["/sign-in", ["token"], refusedWith("Not a sign-in link")],
    ["/apps", ["token", "q"], legal],
    ["/docs", ["token", "q"], legal],
    ["/", ["token", "q"], legal]
  ]
  return [
    ...forms.map(([path, names, fields, expects]): Door => ({
      name: `POST ${path.split("?", 1)[0]}`,
      method: "POST",
      path,
      headers: { ...form, cookie, "sec-fetch-site": "same-origin" },
      limit: 16_384,
      worst: formWorst(path, names, fields, expects)
    })),
    {
      name: "POST /register",
      method: "POST",
      path: "/register",
      headers: json,
      limit: 16_384,
      worst: jsonWorst("/register", [registration], expectedOfRegistration)
    },
    {
      name: "GET /authorize",
      method: "GET",
      path: "/authorize",
      headers: { cookie },
      limit: queryBytes,
      worst: queryWorst(
        "/authorize",
        ["client_id", "redirect_uri", "scope", "state", "resource", "code_challenge"],
        expectedOfAuthorization,
        asked
      )
    },
    ...pages.map(([path, names, expects]): Door => ({
      name: `GET ${path}`,
      method: "GET",
      path,
      headers: { cookie },
      limit: queryBytes,
      worst: queryWorst(path, names, expects)
    }))
  ]
}

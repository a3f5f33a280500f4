import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import type { LocalSecret } from "../accounts/LocalSecret.ts"
import type { Settings } from "../Config.ts"
import { withLocalUser } from "../http/LocalUser.ts"
import { messagePage } from "./MessagePage.ts"
import { privatePage } from "./PrivatePage.ts"

const wrongSecretPage = (): string =>
  messagePage({
    title: "Wrong start secret",
    heading: "This is not the service's start secret",
    body: `<p class="lead">Open the address that the service printed when it started. It ends with <code>/?local=</code> and the
secret, which is also in the file <code>local-secret</code> of the service's <code>DATA_DIR</code>.</p>
<p>Everything but showing sign-in links and codes works without it: <a href="/">go to the front page</a>.</p>`
  })

/**
 * The response to the address that a service in local mode prints when it starts, `/?local=` and its secret: the browser
 * keeps the secret as a cookie, and shows an address without it. None for other addresses.
 */
export const localEntry = (
  request: HttpServerRequest.HttpServerRequest,
  settings: Settings["Service"],
  secret: LocalSecret["Service"]
): HttpServerResponse.HttpServerResponse | undefined => {
  if (!settings.localMode) return undefined
  const given = new URLSearchParams(request.url.split("?")[1]).get("local")
  if (given === null) return undefined
  if (!secret.matches(given)) return privatePage(wrongSecretPage(), 403)
  const home = HttpServerResponse.redirect("/", { status: 303, headers: { "referrer-policy": "no-referrer" } })
  return withLocalUser(home, given, settings)
}

import { Effect, Result } from "effect"
import type { Settings } from "../../server/Config.ts"
import { get, objectOf, type Answer } from "./Fetch.ts"
import { failed, ok, skipped, warning } from "./Finding.ts"

const isService = ({ status, text }: Answer) => status === 200 && objectOf(text)["status"] === "ok"

const localUrlOf = ({ host, port }: Settings["Service"]): string => {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host
  return `http://${reached}:${port}`
}

/** Whether `BASE_URL` leads to the service, and whether that can serve. */
export const publicUrl = Effect.fnUntraced(function* (settings: Settings["Service"]) {
  const check = "public URL"
  const { baseUrl } = settings
  const local = localUrlOf(settings)
  const [there, here] = yield* Effect.all(
    [Effect.result(get(`${baseUrl}/health`)), Effect.result(get(`${local}/health`))],
    { concurrency: 2 }
  )
  if (Result.isSuccess(there) && isService(there.success)) {
    const ready = yield* Effect.result(get(`${baseUrl}/ready`))
    if (Result.isSuccess(ready) && ready.success.status === 200) return ok(check, `${baseUrl} leads to the service`)
    return failed(
      check,
      `${baseUrl} leads to the service, which is not ready`,
      "See the check of the database, and the log."
    )
  }
  const what = Result.isFailure(there)
    ? there.failure.message
    : `answers ${there.success.status}, not as Agent Memory does`
  if (Result.isSuccess(here) && isService(here.success)) {
    return failed(
      check,
      `the service runs at ${local}, but ${baseUrl} does not lead to it: ${what}`,
      `Let the proxy of ${baseUrl} pass every path on to ${local}; check DNS, firewall and certificate. Or correct BASE_URL.`
    )
  }
  return failed(
    check,
    `no service answers at ${baseUrl}: ${what}`,
    "Start it with `agent-memory`, with the same settings as this check; or correct BASE_URL, HOST and PORT."
  )
})

const documentsOf = (baseUrl: string) => [
  { path: "/.well-known/oauth-protected-resource", member: "resource", value: `${baseUrl}/mcp` },
  { path: "/.well-known/oauth-protected-resource/mcp", member: "resource", value: `${baseUrl}/mcp` },
  { path: "/.well-known/oauth-authorization-server", member: "issuer", value: baseUrl },
  { path: "/.well-known/oauth-authorization-server/mcp", member: "issuer", value: baseUrl }
]

/** Whether MCP clients find, and may believe, what they look for first. */
export const documents = Effect.fnUntraced(
  function* ({ baseUrl }: Settings["Service"]) {
    const check = "well-known documents"
    for (const { member, path, value } of documentsOf(baseUrl)) {
      const answer = yield* get(baseUrl + path)
      if (answer.status !== 200) {
        return failed(check, `${path} answers ${answer.status}`, `Let the proxy pass ${path} on to the service too.`)
      }
      const said = objectOf(answer.text)[member]
      if (said !== value) {
        return failed(
          check,
          `${path} says that ${member} is ${JSON.stringify(said)}, and should be ${value}`,
          `Start the service with BASE_URL=${baseUrl}; it builds every address from that.`
        )
      }
    }
    return ok(check, `the four of them name ${baseUrl}`)
  },
  Effect.catchTag("NoAnswer", ({ message }) =>
    Effect.succeed(failed("well-known documents", message, "See the check of the public URL."))
  )
)

/** Whether what is sent by https stays that way: addresses come from `BASE_URL`, whatever a proxy says. */
export const proxyScheme = Effect.fnUntraced(function* ({ baseUrl }: Settings["Service"]) {
  const check = "proxy scheme"
  if (!baseUrl.startsWith("https:")) return skipped(check, "BASE_URL is not https")
  const plain = baseUrl.replace(/^https:/, "http:").replace(/:\d+$/, "")
  const answer = yield* Effect.result(get(`${plain}/health`))
  if (Result.isSuccess(answer) && isService(answer.success)) {
    return warning(
      check,
      `${plain} answers too, so that a key sent there travels readable`,
      "Let the proxy redirect http to https, or close port 80."
    )
  }
  const page = yield* Effect.result(get(`${baseUrl}/connections`))
  const location = Result.isSuccess(page) ? (page.success.headers.get("location") ?? "") : ""
  if (location.startsWith("http:")) {
    return failed(
      check,
      `${baseUrl} redirects to ${location}`,
      "The proxy rewrites Location headers: let it pass them on as the service sends them."
    )
  }
  return ok(check, "https only")
})

import { Option, Redacted } from "effect"
import { parseNetwork } from "../http/ClientIp.ts"
import { databaseUrlFault } from "./DatabaseUrl.ts"
import { parametersFault } from "./UrlParameters.ts"
import { choice, integer, list, parseUrl, secretUrl, setting } from "./Setting.ts"

const isPercentEncoding = (text: string): boolean => /^(?:[^%]|%[0-9a-f]{2})*$/i.test(text)

/** The path is the number of a database, if there is one. */
const isRedisUrl = ({ password, pathname, username }: URL): boolean =>
  /^\/?\d{0,5}$/.test(pathname) && isPercentEncoding(username) && isPercentEncoding(password)

const parseOrigin = (text: string): Option.Option<string> =>
  parseUrl(text, ["http:", "https:"]).pipe(
    Option.filter((url) => `${url.origin}/` === url.href),
    Option.map((url) => url.origin)
  )

const isHost = (text: string): boolean => /^[A-Za-z0-9.:_-]+$/.test(text)
const fromAddress = /^(?:[^<>\r\n"]*<[^\s<>@"]+@[^\s<>@"]+>|[^\s<>@"]+@[^\s<>@"]+)$/

/** Where the service is reached. */
export const addressSettings = {
  port: integer("PORT", 3000, [0, 65_535], { meaning: "The port to listen on; `0` takes a free one." }),
  host: setting("HOST", {
    meaning: "The address to listen on; `0.0.0.0` listens on all of the machine's.",
    parse: Option.liftPredicate(isHost),
    expected: "a host name or an IP address to listen on, like 127.0.0.1 or 0.0.0.0",
    unset: "127.0.0.1"
  }),
  baseUrl: setting("BASE_URL", {
    meaning:
      "The public origin. Every address that is given out is built from it, never from what a request says. One that others reach needs `SMTP_URL`.",
    otherwise: "`http://localhost:$PORT`",
    parse: (text) => Option.map(parseOrigin(text), Option.some),
    expected: "the public origin without a path, like https://memory.example.com",
    unset: Option.none<string>()
  })
}

/** Where data is kept. */
export const storageSettings = {
  databaseUrl: secretUrl("DATABASE_URL", ["postgres:", "postgresql:"], {
    meaning:
      "A PostgreSQL 15 or later, encoded in UTF-8. Without it an embedded one keeps its files in `DATA_DIR`. `sslmode` is libpq's: `disable`, `prefer`, `require`, `verify-ca` or `verify-full`, with `sslrootcert`, `sslcert` and `sslkey` as files; `prefer` where it is not said, and `disable` within this machine. `allow`, channel binding, revocation lists and passwords of keys are not supported.",
    example: "postgres://user:password@host:5432/database?sslmode=verify-full",
    faultOf: databaseUrlFault
  }),
  dataDir: setting("DATA_DIR", {
    meaning:
      "The folder of the embedded database, for one process at a time. While the service runs for its own machine alone, also of `local-secret`, whose holder is shown sign-in links and codes; with `DATABASE_URL` of nothing else.",
    parse: Option.liftPredicate((text: string) => !text.includes("\0")),
    expected: "a folder",
    unset: "./data"
  }),
  redisUrl: secretUrl("REDIS_URL", ["redis:", "rediss:"], {
    meaning:
      "Keeps the rate limits in Redis. While it is lost, and without it, they are in PostgreSQL; both are exact over several instances.",
    example: "redis://user:password@host:6379",
    accepts: isRedisUrl,
    faultOf: (url) => parametersFault(url, {})
  }),
  cacheBytes: integer("CACHE_BYTES", 64 * 1024 * 1024, [0, 1024 ** 4], {
    meaning:
      "Memory for tables that are read again and again, so that their reads need no query; of the tables of up to 4 MB, those that were not read for the longest go first. `0` keeps none. Reads are exact with any value, over several instances too.",
    unit: "bytes"
  })
}

const switches = ["true", "false"]

const smtpParameters = {
  requireTLS: switches,
  ignoreTLS: switches,
  name: undefined,
  "tls.rejectUnauthorized": switches,
  "tls.servername": undefined
}

/** How the sign-in mails are sent. */
export const mailSettings = {
  smtpUrl: secretUrl("SMTP_URL", ["smtp:", "smtps:"], {
    meaning:
      "The mail server: `smtps:` speaks TLS at once, `smtp:` on another machine has to offer STARTTLS unless the address ends in `?requireTLS=false`. Without it mails are printed to the terminal.",
    example: "smtps://user:password@mail.example.com",
    faultOf: (url) => parametersFault(url, smtpParameters)
  }),
  mailFrom: setting("MAIL_FROM", {
    meaning: "The sender of mails.",
    otherwise: "`no-reply@` the host of `BASE_URL`",
    parse: (text) =>
      Option.map(
        Option.liftPredicate(text, (from) => fromAddress.test(from)),
        Option.some
      ),
    expected: "a sender like memory@example.com or Agent Memory <memory@example.com>",
    unset: Option.none<string>()
  }),
  mailToStdout: choice("MAIL_TO_STDOUT", ["true", "false"], "false", {
    meaning:
      "`true` allows a public `BASE_URL` without `SMTP_URL`; mails are printed then, and whoever reads the output can sign in."
  })
}

const domain = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/** Who may make an account: anybody, nobody, or who has an address of one of these domains. */
type SignUp = "open" | "closed" | ReadonlyArray<string>

const parseSignUp = (text: string): Option.Option<SignUp> => {
  const rule = text.toLowerCase()
  if (rule === "open" || rule === "closed") return Option.some(rule)
  if (!rule.startsWith("domains:")) return Option.none()
  const domains = rule.slice("domains:".length).split(",")
  return Option.liftPredicate(
    domains.map((name) => name.trim()),
    (names) => names.every((name) => domain.test(name))
  )
}

/** Whom the service listens to, and what it fetches. */
export const trustSettings = {
  signUp: setting("SIGN_UP", {
    meaning:
      "Who may make an account: `open` for anybody, `closed` for nobody, or `domains:a.example,b.example` for e-mail addresses of exactly these domains. Accounts that exist keep signing in; `agent-memory keys create` makes accounts in any case.",
    parse: parseSignUp,
    expected: "open, closed, or domains: and domain names separated by commas, like domains:a.example,b.example",
    unset: "open" as const
  }),
  allowedOrigins: list("ALLOWED_ORIGINS", parseOrigin, {
    meaning:
      "Further origins whose web pages may call `/mcp`, beside the service's own, those of Claude and ChatGPT, and the person's own machine.",
    expected: "origins separated by commas, like https://app.example.com,http://localhost:6274"
  }),
  cimd: choice("CIMD", ["on", "off"], "on", {
    meaning: "`off` takes no metadata documents as `client_id`, so that the service fetches nothing from elsewhere."
  }),
  trustedProxies: list("TRUSTED_PROXIES", parseNetwork, {
    meaning:
      "Proxies whose `X-Forwarded-For` counts. Behind a proxy that is not named here, all callers are one address to the limits.",
    expected: "IP addresses or CIDR blocks separated by commas, like 10.0.0.0/8,::1"
  })
}

/** What the service tells about itself. */
export const telemetrySettings = {
  logLevel: choice("LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "fatal", "none"], "info", {
    meaning: "The least important lines that are logged."
  }),
  logFormat: choice("LOG_FORMAT", ["pretty", "json"], undefined, {
    meaning: "Lines for people, or one flat JSON object a line.",
    otherwise: "`pretty` on a terminal, else `json`"
  }),
  otlpEndpoint: setting("OTEL_EXPORTER_OTLP_ENDPOINT", {
    meaning: "Where traces and metrics are sent as OTLP over HTTP. Without it nothing is made or sent.",
    parse: (text) => Option.map(parseUrl(text, ["http:", "https:"]), () => Option.some(text.replace(/\/+$/, ""))),
    expected: "an http or https address like http://localhost:4318",
    unset: Option.none<string>()
  }),
  metricsToken: setting("METRICS_TOKEN", {
    meaning:
      "The bearer token of `GET /metrics`. Without it, that is for whoever has the start secret of a service in local mode, and off elsewhere.",
    parse: (text) =>
      /^[\x21-\x7e]+$/.test(text)
        ? Option.some(Option.some(Redacted.make(text, { label: "METRICS_TOKEN" })))
        : Option.none(),
    expected: "printable ASCII characters without spaces",
    unset: Option.none<Redacted.Redacted>(),
    secret: true
  })
}

import { Option, Redacted } from "effect"
import { parseNetwork } from "./ClientIp.ts"
import {
  choice,
  databaseUrlFault,
  integer,
  list,
  optional,
  parametersFault,
  parseUrl,
  secretUrl,
  setting
} from "./Setting.ts"

const isPercentEncoding = (text: string): boolean => /^(?:[^%]|%[0-9a-f]{2})*$/i.test(text)

/** The path is the number of a database, if there is one. */
const isRedisUrl = ({ password, pathname, username }: URL): boolean =>
  /^\/?\d{0,5}$/.test(pathname) && isPercentEncoding(username) && isPercentEncoding(password)

const parseOrigin = (text: string): Option.Option<string> =>
  parseUrl(text, ["http:", "https:"]).pipe(
    Option.filter((url) => `${url.origin}/` === url.href),
    Option.map((url) => url.origin)
  )

const fromAddress = /^(?:[^<>\r\n"]*<[^\s<>@"]+@[^\s<>@"]+>|[^\s<>@"]+@[^\s<>@"]+)$/

/** Where the service listens, and its public address. */
export const addressSettings = {
  port: integer("PORT", 3000, [0, 65_535], { meaning: "The port to listen on; `0` picks a free one." }),
  host: setting("HOST", {
    meaning: "The address to listen on; `0.0.0.0` means all addresses of the machine.",
    parse: Option.liftPredicate((text: string) => /^[A-Za-z0-9.:_-]+$/.test(text)),
    expected: "a host name or an IP address to listen on, like 127.0.0.1 or 0.0.0.0",
    unset: "127.0.0.1"
  }),
  baseUrl: optional("BASE_URL", {
    meaning:
      "The public origin. All URLs that the service gives out start with it, whatever a request says. If it is not on this machine, `SMTP_URL` is required.",
    otherwise: "`http://localhost:$PORT`",
    parse: parseOrigin,
    expected: "the public origin without a path, like https://memory.example.com"
  })
}

/** Where data is stored. */
export const storageSettings = {
  databaseUrl: secretUrl("DATABASE_URL", ["postgres:", "postgresql:"], {
    meaning:
      "A PostgreSQL database, version 15 or later, in UTF-8. Without it the service runs an embedded PostgreSQL with its files in `DATA_DIR`. `sslmode` is as in libpq: `disable`, `prefer`, `require`, `verify-ca` or `verify-full`, with `sslrootcert`, `sslcert` and `sslkey` as files. The default is `prefer`, or `disable` for a database on this machine. `allow`, channel binding, revocation lists and encrypted keys are not supported.",
    example: "postgres://user:password@host:5432/database?sslmode=verify-full",
    faultOf: databaseUrlFault
  }),
  dataDir: setting("DATA_DIR", {
    meaning:
      "The folder of the embedded database; only one process can use it at a time. In local mode it also has the file `local-secret`, which gives access to sign-in links and codes.",
    parse: Option.liftPredicate((text: string) => !text.includes("\0")),
    expected: "a folder",
    unset: "./data"
  }),
  redisUrl: secretUrl("REDIS_URL", ["redis:", "rediss:"], {
    meaning:
      "Keeps the rate limits in Redis. Without it, or while it cannot be reached, they are kept in PostgreSQL. Both are exact across several instances.",
    example: "redis://user:password@host:6379",
    accepts: isRedisUrl,
    faultOf: (url) => parametersFault(url, {})
  }),
  cacheBytes: integer("CACHE_BYTES", 64 * 1024 * 1024, [0, 1024 ** 4], {
    meaning:
      "Memory for caching tables that are read often, so that their reads need no query. Tables of up to 4 MB are cached, and the least recently read are dropped first. `0` turns the cache off. Reads are exact with any value, also across several instances.",
    measure: "bytes"
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

/** How sign-in mails are sent. */
export const mailSettings = {
  smtpUrl: secretUrl("SMTP_URL", ["smtp:", "smtps:"], {
    meaning:
      "The mail server: `smtps:` uses TLS from the start, `smtp:` on another machine has to offer STARTTLS unless the URL ends in `?requireTLS=false`. Without it, mails are printed to the terminal.",
    example: "smtps://user:password@mail.example.com",
    faultOf: (url) => parametersFault(url, smtpParameters)
  }),
  mailFrom: optional("MAIL_FROM", {
    meaning: "The sender of mails.",
    otherwise: "`no-reply@` the host of `BASE_URL`",
    parse: Option.liftPredicate((text: string) => fromAddress.test(text)),
    expected: "a sender like memory@example.com or Agent Memory <memory@example.com>"
  }),
  mailToStdout: choice("MAIL_TO_STDOUT", ["true", "false"], "false", {
    meaning:
      "`true` allows a public `BASE_URL` without `SMTP_URL`. Mails are then printed, and anyone who can read the output can sign in."
  })
}

const domain = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/** Who can create an account: anyone, no one, or people with an email address of one of these domains, in lower case. */
type SignUp = "open" | "closed" | ReadonlyArray<string>

const parseSignUp = (text: string): Option.Option<SignUp> => {
  const rule = text.toLowerCase()
  if (rule === "open" || rule === "closed") return Option.some(rule)
  if (!rule.startsWith("domains:")) return Option.none()
  const domains = rule
    .slice("domains:".length)
    .split(",")
    .map((name) => name.trim())
  return domains.every((name) => domain.test(name)) ? Option.some(domains) : Option.none()
}

/** Which callers the service trusts, and what it fetches. */
export const trustSettings = {
  signUp: setting("SIGN_UP", {
    meaning:
      "Who can create an account: `open` for anyone, `closed` for no one, or `domains:a.example,b.example` for email addresses of exactly these domains. Existing accounts can always sign in, and `agent-memory keys create` can always create accounts.",
    parse: parseSignUp,
    expected: "open, closed, or domains: and domain names separated by commas, like domains:a.example,b.example",
    unset: "open" as const
  }),
  allowedOrigins: list("ALLOWED_ORIGINS", parseOrigin, {
    meaning:
      "More origins whose web pages can call `/mcp`, besides the service itself, Claude, ChatGPT and the user's own machine.",
    expected: "origins separated by commas, like https://app.example.com,http://localhost:6274"
  }),
  cimd: choice("CIMD", ["on", "off"], "on", {
    meaning:
      "OAuth Client ID Metadata Documents. `off` refuses URLs as `client_id`, so that the service fetches nothing from other servers."
  }),
  trustedProxies: list("TRUSTED_PROXIES", parseNetwork, {
    meaning:
      "Proxies whose `X-Forwarded-For` is trusted. Behind any other proxy, all callers count as one address for the limits.",
    expected: "IP addresses or CIDR blocks separated by commas, like 10.0.0.0/8,::1"
  })
}

/** Logs, metrics and traces. */
export const telemetrySettings = {
  logLevel: choice("LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "fatal", "none"], "info", {
    meaning: "The lowest level that is logged."
  }),
  logFormat: choice("LOG_FORMAT", ["pretty", "json"], undefined, {
    meaning: "`pretty` for people, or `json` for one flat JSON object per line.",
    otherwise: "`pretty` on a terminal, else `json`"
  }),
  otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", {
    meaning: "Where traces and metrics are sent, as OTLP over HTTP. Without it none are recorded.",
    parse: (text) => Option.map(parseUrl(text, ["http:", "https:"]), () => text.replace(/\/+$/, "")),
    expected: "an http or https URL like http://localhost:4318"
  }),
  metricsToken: optional("METRICS_TOKEN", {
    meaning:
      "The bearer token of `GET /metrics`. Without it, `/metrics` needs the local secret in local mode, and is off otherwise.",
    parse: (text) =>
      /^[\x21-\x7e]+$/.test(text) ? Option.some(Redacted.make(text, { label: "METRICS_TOKEN" })) : Option.none(),
    expected: "printable ASCII characters without spaces",
    secret: true
  })
}

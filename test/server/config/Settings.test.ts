import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { ConfigProblem, isLoopbackHost, Settings } from "../../../src/server/config/Settings.ts"
import { settingsLayer } from "../../support/SignInServices.ts"

const read = (variables: Record<string, string>) =>
  Effect.map(Layer.build(settingsLayer(variables)), Context.get(Settings))

const problem = (variables: Record<string, string>) =>
  Effect.map(Effect.flip(read(variables)), (error) => {
    assert.instanceOf(error, ConfigProblem)
    return error.message
  })

describe("Settings", () => {
  it.effect("have the documented defaults", () =>
    Effect.gen(function* () {
      const settings = yield* read({})
      assert.deepInclude(settings, {
        port: 3000,
        host: "127.0.0.1",
        baseUrl: "http://localhost:3000",
        loopback: true,
        localMode: true,
        dataDir: "./data",
        allowedOrigins: [],
        cimd: true,
        logLevel: "Info",
        trustedProxies: []
      })
      for (const unset of [settings.databaseUrl, settings.redisUrl, settings.smtpUrl, settings.metricsToken]) {
        assert.isTrue(Option.isNone(unset))
      }
      assert.deepInclude(settings.limits, {
        tables: 20,
        rowsPerTable: 1000,
        storageBytes: 26_214_400,
        rowBytes: 65_536,
        batchOperations: 100,
        writesPerMinute: 30,
        readsPerMinute: 60,
        accountWritesPerMinute: 600,
        accountReadsPerMinute: 1200,
        versionsPerRow: 10,
        versionDays: 30,
        versionStorageBytes: 262_144_000,
        activeKeys: 100,
        keysPerHour: 60,
        revokedKeyDays: 90,
        liveLinks: 1000,
        magicLinksPerEmailPerHour: 5,
        magicLinksPerIpPerHour: 20,
        verifiesPerIpPerHour: 60,
        registrationsPerIpPerHour: 120,
        mcpRequestsPerIpPerMinute: 6000,
        anonymousPostsPerIpPerMinute: 1200,
        requestBytes: 8_388_608,
        authRequestBytes: 16_384,
        importRequestBytes: 33_554_432,
        idempotencyStorageBytes: 262_144_000,
        idempotencyHours: 24,
        magicLinkMinutes: 10,
        linkMinutes: 60
      })
    })
  )

  it.effect("read every variable", () =>
    Effect.gen(function* () {
      const settings = yield* read({
        PORT: "8080",
        HOST: "0.0.0.0",
        BASE_URL: "https://memory.example.com/",
        DATABASE_URL: "postgresql://u:p@db/x?sslmode=require",
        SMTP_URL: "smtps://u:p@mail.example.com",
        MAIL_FROM: "Memory <memory@example.com>",
        ALLOWED_ORIGINS: "https://a.example, http://localhost:6274",
        CIMD: "off",
        LOG_LEVEL: "debug",
        LOG_FORMAT: "json",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318/",
        METRICS_TOKEN: "m3trics",
        CACHE_BYTES: "0",
        LIMIT_TABLES: "50",
        TRUSTED_PROXIES: "10.0.0.0/8, ::1",
        LINK_MINUTES: " "
      })
      assert.deepInclude(settings, {
        port: 8080,
        host: "0.0.0.0",
        baseUrl: "https://memory.example.com",
        loopback: false,
        localMode: false,
        mailFrom: "Memory <memory@example.com>",
        allowedOrigins: ["https://a.example", "http://localhost:6274"],
        cacheBytes: 0,
        cimd: false,
        logLevel: "Debug",
        logFormat: "json",
        otlpEndpoint: Option.some("http://localhost:4318")
      })
      assert.strictEqual(settings.limits.tables, 50)
      assert.strictEqual(settings.limits.linkMinutes, 60)
      assert.strictEqual(settings.trustedProxies.length, 2)
      assert.deepStrictEqual(
        Option.map(settings.databaseUrl, Redacted.value),
        Option.some("postgresql://u:p@db/x?sslmode=require")
      )
      assert.notInclude(JSON.stringify(settings), "u:p")
      assert.notInclude(JSON.stringify(settings), "m3trics")
    })
  )

  it.effect("name every wrong variable at once, what it holds and what is allowed", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* problem({ PORT: "http", LIMIT_TABLES: "-1", BASE_URL: "memory.example.com", CIMD: "maybe" }),
        [
          "Invalid settings:",
          '  PORT is "http": expected a whole number from 0 to 65535',
          '  BASE_URL is "memory.example.com": expected the public origin without a path, like https://memory.example.com',
          '  CIMD is "maybe": expected one of on, off',
          '  LIMIT_TABLES is "-1": expected a whole number from 1 to 1000000000'
        ].join("\n")
      )
    })
  )

  it.effect("refuse a Redis database that is no number, and a password that is not encoded", () =>
    Effect.gen(function* () {
      for (const path of ["redis://host/cache", "redis://host/1/2", "redis://user:100%@host"]) {
        assert.include(yield* problem({ REDIS_URL: path }), "REDIS_URL is (not shown): expected a URL like redis:")
      }
    })
  )

  const addresses: ReadonlyArray<readonly [variable: string, value: string, told: string]> = [
    [
      "DATABASE_URL",
      "postgres://u:hunter2@h/d?ssl=true",
      "given the parameter ssl, which PostgreSQL does not have: expected a URL with sslmode=verify-full"
    ],
    [
      "DATABASE_URL",
      "postgres://u:hunter2@h/d?slmode=require",
      "given the unknown parameter slmode: expected a URL with only sslmode, sslrootcert, "
    ],
    [
      "DATABASE_URL",
      "postgres://u:hunter2@h/d?sslmode=required",
      "given an unknown sslmode: expected a URL with one of sslmode=disable, sslmode=prefer, "
    ],
    ["DATABASE_URL", "postgres://u:hunter2@h/d?sslmode=require&sslmode=disable", "given sslmode twice"],
    [
      "DATABASE_URL",
      "postgres://u:hunter2@h/d?sslcert=/c",
      "given only one of sslcert and sslkey: expected a URL with both"
    ],
    ["DATABASE_URL", "postgres://h/d?hunter2@db", "given the unknown parameter (not shown)"],
    [
      "SMTP_URL",
      "smtp://u:hunter2@h?requireTls=false",
      "given the unknown parameter requireTls: expected a URL with only requireTLS, "
    ],
    [
      "SMTP_URL",
      "smtp://u:hunter2@h?requireTLS=no",
      "given an unknown requireTLS: expected a URL with one of requireTLS=true, requireTLS=false"
    ],
    ["REDIS_URL", "redis://u:hunter2@h?tls=true", "given the unknown parameter tls: expected a URL without parameters"]
  ]
  for (const [variable, value, told] of addresses) {
    it.effect(`refuse ${variable}=${value.replace(/.*@/, "…@")} and say what it may have`, () =>
      Effect.gen(function* () {
        const message = yield* problem({ [variable]: value })
        assert.include(message, `${variable} is ${told}`)
        assert.notInclude(message, "hunter2")
      })
    )
  }

  it.effect("never show a secret", () =>
    Effect.gen(function* () {
      const message = yield* problem({
        DATABASE_URL: "mysql://root:hunter2@db/x",
        REDIS_URL: "hunter2",
        SMTP_URL: "hunter2@mail",
        METRICS_TOKEN: "hunter2 \u00e9"
      })
      assert.notInclude(message, "hunter2")
      for (const name of ["DATABASE_URL", "REDIS_URL", "SMTP_URL", "METRICS_TOKEN"]) {
        assert.include(message, `${name} is (not shown): expected`)
      }
    })
  )

  const wrong: ReadonlyArray<readonly [string, string]> = [
    ["PORT", "65536"],
    ["PORT", "80.5"],
    ["PORT", "0x50"],
    ["HOST", "http://localhost"],
    ["BASE_URL", "https://memory.example.com/app"],
    ["BASE_URL", "https://user@memory.example.com"],
    ["BASE_URL", "ftp://memory.example.com"],
    ["MAIL_FROM", "nobody"],
    ["MAIL_FROM", "a@example.com, b@example.com"],
    ["MAIL_TO_STDOUT", "yes"],
    ["ALLOWED_ORIGINS", "https://a.example,*"],
    ["LOG_LEVEL", "loud"],
    ["LOG_FORMAT", "xml"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"],
    ["LIMIT_WRITES_PER_MINUTE", "0"],
    ["LIMIT_ROW_BYTES", "64KB"],
    ["LIMIT_STORAGE_BYTES", "1e9"],
    ["MAGIC_LINK_MINUTES", "0"],
    ["TRUSTED_PROXIES", "10.0.0.0/33"],
    ["TRUSTED_PROXIES", "proxy.internal"]
  ]
  for (const [name, value] of wrong) {
    it.effect(`refuse ${name}=${value}`, () =>
      Effect.map(problem({ [name]: value }), (message) =>
        assert.include(message, `${name} is ${JSON.stringify(value)}`)
      )
    )
  }

  it.effect("refuse a public address without mail, and say what to set", () =>
    Effect.gen(function* () {
      const message = yield* problem({ BASE_URL: "https://memory.example.com" })
      assert.include(message, "https://memory.example.com")
      assert.include(message, "SMTP_URL=")
      assert.include(message, "MAIL_TO_STDOUT=true")
      const printed = yield* read({ BASE_URL: "https://memory.example.com", MAIL_TO_STDOUT: "true" })
      assert.isFalse(printed.localMode)
    })
  )

  it.effect("know local mode by mail, address and host together", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* read({ HOST: "::1", BASE_URL: "http://[::1]:3000" })).localMode)
      assert.isTrue((yield* read({ HOST: "localhost", BASE_URL: "http://127.0.0.1:9" })).localMode)
      assert.isFalse((yield* read({ HOST: "0.0.0.0" })).localMode)
      assert.isFalse((yield* read({ SMTP_URL: "smtp://localhost:1025" })).localMode)
    })
  )

  it("tell loopback hosts from names that look like one", () => {
    for (const host of ["localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.9.8.7", "::1", "[::1]"]) {
      assert.isTrue(isLoopbackHost(host), host)
    }
    for (const host of ["localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "128.0.0.1", "::", "10.0.0.1"]) {
      assert.isFalse(isLoopbackHost(host), host)
    }
  })
})

import { NodeCrypto } from "@effect/platform-node"
import { ConfigProvider, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { ServicesLayer } from "../App.ts"
import { LocalSecret } from "../server/accounts/LocalSecret.ts"
import { Settings } from "../server/Config.ts"
import { LastUses } from "../server/keys/LastUses.ts"
import { RateLimiter } from "../server/keys/RateLimiter.ts"
import { Mailer } from "../server/mail/Mailer.ts"
import type { DocumentFetcher } from "../server/oauth/DocumentFetcher.ts"
import { TelemetryLayer } from "../server/telemetry/Telemetry.ts"

/** The settings that these variables make; rate limits are out of the way unless they set them. */
export const settingsLayer = (variables: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown({
          LOG_LEVEL: "warn",
          LIMIT_WRITES_PER_MINUTE: "1000000",
          LIMIT_READS_PER_MINUTE: "1000000",
          LIMIT_KEYS_PER_HOUR: "1000000",
          LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "1000000",
          LIMIT_VERIFIES_PER_IP_PER_HOUR: "1000000",
          LIMIT_REGISTRATIONS_PER_IP_PER_HOUR: "1000000",
          LIMIT_MCP_REQUESTS_PER_IP_PER_MINUTE: "1000000",
          LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE: "1000000",
          ...variables
        })
      )
    )
  )

/** What differs between the service and its tests: where rows are kept, and what fetching a document gives. */
export type Infrastructure<A, E> = Layer.Layer<A | SqlClient.SqlClient | DocumentFetcher, E>

/** All services, without HTTP; mail goes to the `Outbox`. */
export const servicesOn = <A, E, B, E2>(
  infrastructure: Infrastructure<A, E>,
  settings: Layer.Layer<B | Settings, E2>
) =>
  ServicesLayer.pipe(
    Layer.provideMerge([RateLimiter.layerPostgres, LastUses.layer]),
    Layer.provideMerge([Mailer.layerMemory, LocalSecret.layerMemory]),
    Layer.provideMerge(infrastructure),
    Layer.provideMerge(TelemetryLayer),
    Layer.provideMerge(settings),
    Layer.provideMerge(NodeCrypto.layer)
  )

import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens
} from "@modelcontextprotocol/client"
import { UnauthorizedError as UnauthorizedError1 } from "@modelcontextprotocol/sdk/client/auth.js"
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { authorize } from "./FakeBrowser.ts"
import { localSecretOf } from "./LocalSecrets.ts"

/** What a client keeps of its login, and each address that it sent the person to. */
export class Login implements OAuthClientProvider {
  readonly redirectUrl = "http://127.0.0.1:8765/callback"
  readonly clientMetadata = {
    client_name: "SDK test",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none"
  }
  readonly sentTo: Array<URL> = []
  client: StoredOAuthClientInformation | undefined
  kept: StoredOAuthTokens | undefined
  verifier = ""
  discovered: OAuthDiscoveryState | undefined

  state = () => "the state"
  clientInformation = () => this.client
  saveClientInformation = (client: StoredOAuthClientInformation) => void (this.client = client)
  tokens = () => this.kept
  saveTokens = (tokens: StoredOAuthTokens) => void (this.kept = tokens)
  codeVerifier = () => this.verifier
  saveCodeVerifier = (verifier: string) => void (this.verifier = verifier)
  discoveryState = () => this.discovered
  saveDiscoveryState = (state: OAuthDiscoveryState) => void (this.discovered = state)
  redirectToAuthorization = (url: URL) => void this.sentTo.push(url)
  invalidateCredentials = (scope: string) => {
    if (scope === "all" || scope === "client") this.client = undefined
    if (scope === "all" || scope === "tokens") this.kept = undefined
    if (scope === "all" || scope === "discovery") this.discovered = undefined
  }
}

/** What a tool answers. */
interface ToolResult {
  readonly isError?: boolean | undefined
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: unknown }>
  readonly structuredContent?: unknown
}

/** What the tests do with a client, of whichever version. */
export interface SdkConnection {
  readonly connect: () => Promise<void>
  readonly finish: (callback: URL) => Promise<void>
  readonly tools: () => Promise<ReadonlyArray<{ readonly name: string }>>
  readonly call: (name: string, args: Record<string, unknown>) => Promise<ToolResult>
  readonly close: () => Promise<void>
}

const info = { name: "test", version: "1" }

const version1 = (mcp: string, login: Login): SdkConnection => {
  const transport = new Transport1(new URL(mcp), { authProvider: login })
  const client = new Client1(info)
  return {
    connect: () => client.connect(transport),
    finish: ({ searchParams }) => transport.finishAuth(searchParams.get("code") ?? ""),
    tools: async () => (await client.listTools()).tools,
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as ToolResult,
    close: () => client.close()
  }
}

const version2 =
  (mode: "legacy" | "auto" | { readonly pin: string }) =>
  (mcp: string, login: Login): SdkConnection => {
    const transport = new StreamableHTTPClientTransport(new URL(mcp), { authProvider: login })
    const client = new Client(info, { versionNegotiation: { mode } })
    return {
      connect: () => client.connect(transport),
      finish: ({ searchParams }) => transport.finishAuth(searchParams),
      tools: async () => (await client.listTools()).tools,
      call: async (name, args) => (await client.callTool({ name, arguments: args })) as ToolResult,
      close: () => client.close()
    }
  }

/** The official client: its first version, and its second in both eras of the protocol. */
export const sdkClients = {
  "version 1": version1,
  "version 2, first protocol": version2("legacy"),
  "version 2, newest protocol": version2("auto")
}

/** The second version, held to the newest protocol. */
export const pinnedClient = version2({ pin: "2026-07-28" })

/** Whether a client fails because the person has to log in. */
export const isUnauthorized = (error: unknown) =>
  error instanceof UnauthorizedError || error instanceof UnauthorizedError1

/** What a promise fails with; it must. */
export const failureOf = (attempt: () => Promise<unknown>) =>
  Effect.promise(async (): Promise<unknown> => {
    try {
      await attempt()
    } catch (error) {
      return error
    }
    throw new Error("It did not fail.")
  })

/** A client as it is opened for a test, and closed at its end. */
const openSdk = (open: (mcp: string, login: Login) => SdkConnection, mcp: string, login: Login) =>
  Effect.acquireRelease(
    Effect.sync(() => open(mcp, login)),
    (connection) => Effect.promise(() => connection.close())
  )

/** Logs in as a person does who is asked by a new client, and gives the client connected. */
export const logInWith = Effect.fnUntraced(function* (open: (mcp: string, login: Login) => SdkConnection, mcp: string) {
  const login = new Login()
  const asking = yield* openSdk(open, mcp, login)
  assert.isTrue(isUnauthorized(yield* failureOf(asking.connect)))
  const callback = yield* Effect.promise(() => authorize(login.sentTo[0]!.href, { localSecret: localSecretOf(mcp) }))
  assert.strictEqual(callback.searchParams.get("state"), "the state")
  yield* Effect.promise(() => asking.finish(callback))
  const connection = yield* openSdk(open, mcp, login)
  yield* Effect.promise(connection.connect)
  return { login, connection }
})

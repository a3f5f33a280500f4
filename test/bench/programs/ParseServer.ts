import { createRequire } from "node:module"
import { join } from "node:path"

// parse-server as its documentation starts it, with what of a start needs the internet turned off.

const [port, databaseURI, packages, connections] = process.argv.slice(2)
const { ParseServer } = createRequire(join(packages!, "package.json"))("parse-server") as {
  readonly ParseServer: { readonly startApp: (options: object) => Promise<unknown> }
}
await ParseServer.startApp({
  port: Number(port),
  host: "127.0.0.1",
  mountPath: "/parse",
  serverURL: `http://127.0.0.1:${port}/parse`,
  databaseURI: `${databaseURI}?max=${connections}`,
  appId: "bench",
  restAPIKey: "bench",
  masterKey: "master",
  allowClientClassCreation: true,
  silent: true,
  logsFolder: null
})

import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import type { TestContext } from "vitest"
import packageJson from "../package.json" with { type: "json" }
import nodePackage from "../src/node/package.json" with { type: "json" }
import { settingGroups, Settings } from "../src/server/config/Settings.ts"
import { makeCertificate } from "./support/Certificate.ts"
import { DatabaseLayer } from "./support/Database.ts"
import { makeFolder } from "./support/ServiceProcess.ts"
import { startupParameters } from "../src/server/sql/Database.ts"
import { settingsLayer } from "./support/SignInServices.ts"

// Its parts are pages of their own.
const document = ["deployment", "backup", "scaling"]
  .map((name) => readFileSync(new URL(`../src/server/pages/docs/${name}.md`, import.meta.url), "utf8"))
  .join("\n")

/** What stands in the document as a file of this name. */
const fileOf = (name: string): string =>
  [...document.matchAll(/^```\w+ (.*)\n([^]*?)^```$/gm)].find(([, caption]) => caption?.endsWith(name))?.[2] ?? ""

const isTimeout = (error: Error): boolean => "code" in error && error.code === "ETIMEDOUT"

/** Runs a program of the system that checks a file; where it cannot be started, the test is skipped and says why. */
const check = (context: TestContext, program: string, options: ReadonlyArray<string>) => {
  const { error, status, stderr, stdout } = spawnSync(program, options, { encoding: "utf8", timeout: 50_000 })
  // Not only where there is none: a folder of the PATH that this user cannot read ends the search, too.
  if (error !== undefined && status === null && !isTimeout(error)) {
    context.skip(`${program} cannot be started here: ${error.message}`)
  }
  assert.strictEqual(status, 0, `${program}: ${stdout}${stderr}`)
  return `${stdout}${stderr}`
}

const written = (folder: string, name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

layer(DatabaseLayer, { excludeTestServices: true, timeout: 60_000 })("The deployment document", (it) => {
  it.effect("has a unit that systemd takes without a word", (context) =>
    Effect.gen(function* () {
      const unit = fileOf("agent-memory.service").replace("/usr/local/bin/agent-memory", process.execPath)
      assert.include(unit, `ExecStart=${process.execPath} serve\n`)
      const path = written(yield* makeFolder, "agent-memory.service", unit)
      const said = check(context, "systemd-analyze", ["verify", "--man=no", path])
      assert.deepStrictEqual(
        said.split("\n").filter((line) => line.includes("agent-memory")),
        []
      )
    })
  )

  it.effect("has a unit that systemd finds well confined", (context) =>
    Effect.gen(function* () {
      const path = written(yield* makeFolder, "agent-memory.service", fileOf("agent-memory.service"))
      check(context, "systemd-analyze", ["security", "--offline=true", "--threshold=20", path])
    })
  )

  it.effect("starts the package's command, with settings that exist, on one data folder", () =>
    Effect.sync(() => {
      const [unit, image] = [fileOf("agent-memory.service"), fileOf("Containerfile")]
      const [command = ""] = Object.keys(packageJson.bin)
      assert.include(unit, `ExecStart=/usr/local/bin/${command} serve\n`)
      assert.include(image, `ENTRYPOINT ["${command}"]\nCMD ["serve"]\n`)
      const known = settingGroups.flatMap(([, settings]) => settings.map(({ name }) => name))
      const given = [...`${unit}${image}`.matchAll(/^(?:Environment=|ENV )(.*)$/gm)].flatMap(([, line]) =>
        line!.split(" ")
      )
      assert.includeMembers(
        known,
        given.map((pair) => pair.split("=")[0]!)
      )
      const folder = "/var/lib/agent-memory"
      assert.strictEqual(given.filter((pair) => pair === `DATA_DIR=${folder}`).length, 2)
      assert.include(unit, `\nStateDirectory=${folder.replace("/var/lib/", "")}\n`)
      assert.include(image, ` ${folder}\n`)
      assert.include(document, `--volume agent-memory:${folder} `)
      assert.include(document, `useradd --system --home-dir ${folder} ${/^User=(.*)$/m.exec(unit)?.[1]}\n`)
    })
  )

  it.effect("builds an image from the file that npm pack writes, on the Node of a checkout", () =>
    Effect.sync(() => {
      const image = fileOf("Containerfile")
      const packed = `${packageJson.name}-{version}.tgz`
      assert.include(image, `COPY ${packed} /tmp/\nRUN npm install --global /tmp/${packed} `)
      assert.include(document, `npm install --global ./${packed}\n`)
      const [major] = Object.values(nodePackage.optionalDependencies)[0]!.split(".")
      assert.match(image, new RegExp(`^FROM docker\\.io/library/node:${major}-\\w+-slim\n`))
      assert.match(image, /^USER node$/m)
    })
  )

  it.effect("has a health check that tells whether the service answers", () =>
    Effect.gen(function* () {
      const text = /^HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(fileOf("Containerfile"))?.[1] ?? "[]"
      const [program, ...options] = JSON.parse(text) as ReadonlyArray<string>
      assert.strictEqual(program, "node")
      const server = createServer(({ url }, response) => response.writeHead(url === "/health" ? status : 404).end())
      let status = 200
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => server.close())
      )
      const { port } = server.address() as AddressInfo
      const codeWith = (PORT: string) =>
        Effect.callback<number | null>((resume) => {
          const child = spawn(process.execPath, options, { env: { PORT }, stdio: "ignore" })
          child.once("close", (code) => resume(Effect.succeed(code)))
        })
      assert.strictEqual(yield* codeWith(String(port)), 0)
      status = 503
      assert.strictEqual(yield* codeWith(String(port)), 1)
      assert.strictEqual(yield* codeWith("1"), 1)
    })
  )

  it.effect("has variables that the service takes", () =>
    Effect.gen(function* () {
      const lines = fileOf("agent-memory.env").trim().split("\n")
      const variables = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
      const settings = yield* Settings.pipe(Effect.provide(settingsLayer(variables)))
      assert.isFalse(settings.localMode)
      assert.isTrue(Option.isSome(settings.databaseUrl))
      assert.strictEqual(settings.trustedProxies.length, 2)
    })
  )

  it.effect("gives a pooler's sessions what the service's own begin with", () =>
    Effect.gen(function* () {
      const { timezone: _, ...settings } = startupParameters
      const names = /^ignore_startup_parameters = (.*)$/m.exec(fileOf("pgbouncer.ini"))?.[1]?.split(", ")
      assert.deepStrictEqual(names, Object.keys(settings))
      const sql = yield* SqlClient.SqlClient
      // Another role than the document's: the server may be somebody's.
      const name = `agent_memory_test_${process.pid}`
      yield* sql.unsafe(`CREATE ROLE ${name}`)
      yield* Effect.addFinalizer(() => Effect.orDie(sql.unsafe(`DROP ROLE ${name}`)))
      const changes = [...document.matchAll(/^ALTER ROLE agent_memory (.*);$/gm)].map(([, change]) => change!)
      yield* Effect.forEach(changes, (change) => sql.unsafe(`ALTER ROLE ${name} ${change}`))
      const [role] = yield* sql<{ config: ReadonlyArray<string> }>`
        SELECT rolconfig AS config FROM pg_roles WHERE rolname = ${name}
      `
      assert.deepStrictEqual(
        role!.config.map((line) => line.split("=")),
        Object.entries(settings)
      )
    })
  )

  it.effect("has a configuration that nginx takes", (context) =>
    Effect.gen(function* () {
      const folder = yield* makeFolder
      const { cert, key } = makeCertificate("memory.example.com")
      written(folder, "fullchain.pem", cert)
      written(folder, "privkey.pem", key)
      mkdirSync(join(folder, "logs"))
      const site = fileOf("agent-memory.conf")
        .replaceAll("/etc/ssl/memory.example.com", folder)
        .replaceAll("/var/log/nginx", join(folder, "logs"))
      assert.include(site, `${folder}/privkey.pem`)
      // Where nginx keeps bodies and logs, only its own user may write.
      const bodies = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (of) => `${of}_temp_path ${folder}/${of};\n`
      )
      const main = `pid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${bodies.join("")}${site}}\n`
      const said = check(context, "nginx", ["-t", "-p", folder, "-c", written(folder, "nginx.conf", main)])
      assert.notInclude(said, "[warn]")
    })
  )

  it.effect("has a configuration that Caddy takes", (context) =>
    Effect.gen(function* () {
      const path = written(yield* makeFolder, "Caddyfile", fileOf("Caddyfile"))
      const said = check(context, "caddy", ["adapt", "--config", path, "--adapter", "caddyfile"])
      assert.include(said, "127.0.0.1:3000")
      assert.notInclude(said, "not formatted")
    })
  )

  for (const program of ["pg_dump", "pg_restore"]) {
    it.effect(`calls ${program} with options that it has`, (context) =>
      Effect.sync(() => {
        const options = new RegExp(`^${program} (.*)$`, "m").exec(document)?.[1]?.match(/--[a-z-]+/g) ?? []
        assert.isAbove(options.length, 1)
        const help = check(context, program, ["--help"])
        for (const option of options) assert.include(help, option)
      })
    )
  }

  it.effect("has SQL that makes every process read the tables of an account anew", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO accounts (account_id, created_at) VALUES ('sql', now())`
      yield* sql`INSERT INTO tables (account_id, name, rows) VALUES ('sql', 'tasks', 1)`
      yield* sql`UPDATE accounts SET revision = 5 WHERE account_id = 'sql'`
      const told = sql<{ account: number; table: number }>`
        SELECT a.revision::int AS account, t.revision::int AS table FROM accounts a JOIN tables t USING (account_id)
        WHERE account_id = 'sql'
      `
      const [before] = yield* told
      yield* sql.unsafe(fileOf("All tables of an account").replace("ACCOUNT'", "sql'"))
      const [after] = yield* told
      assert.strictEqual(after!.account, before!.account + 1)
      assert.isBelow(before!.table, after!.account)
      assert.isAtLeast(after!.table, after!.account)
    })
  )

  it.effect("lays out every table over the nodes of Citus, by account where it has one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ name: string; by_account: boolean }>`
        SELECT c.relname AS name, EXISTS (
          SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
          WHERE i.indrelid = c.oid AND i.indisprimary AND a.attname = 'account_id'
        ) OR c.relname = 'accounts' AS by_account
        FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
      `
      const [distributed = "", reference = ""] = fileOf("Citus").split("create_reference_table")
      const named = (text: string) => [...text.matchAll(/'([a-z_]+)'/g)].map(([, name]) => name ?? "")
      const byAccount = new Set(named(distributed).filter((name) => name !== "account_id"))
      const everywhere = named(reference)
      const stays = /^(.*) stay on the coordinator/m.exec(document)?.[1] ?? ""
      const own = tables.filter(({ name }) => !stays.includes(`\`${name}\``))
      assert.sameMembers(
        [...byAccount, ...everywhere],
        own.map(({ name }) => name)
      )
      assert.sameMembers(
        [...byAccount],
        own.filter(({ by_account }) => by_account).map(({ name }) => name)
      )
    })
  )
})

import { Effect } from "effect"
import { statSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { chromium, type Page } from "playwright-core"
import { createClient } from "../../src/client/createClient.ts"
import { startTestServer } from "../../src/testing/startTestServer.ts"
import { findChromium, launchArguments } from "../support/Chromium.ts"

// node test/browser/takePictures.ts: the pictures of the console in the README, from the service as it is, with rows as
// people and agents have them.

const email = "ada@example.com"
const width = 1280
const height = 660
/** Sharp where a README is shown on a dense screen, which gives it less than 1,280 pixels; more would be too large a file. */
const deviceScaleFactor = 1.5
const mostBytes = 200 * 1024

const tasks = [
  { title: "Renew the passport", due: "2026-12-01", done: false, cost: 70, tags: ["office", "travel"] },
  { title: "Book the train to Vienna", due: "2026-12-03", done: true, cost: 89.9, tags: ["travel"] },
  { title: "Buy oat milk and coffee", due: "2026-12-04", done: false, cost: 11.4, tags: ["home"] },
  { title: "Review the release notes of 2.4", due: "2026-12-07", done: false, tags: ["work"], asked_by: "Grace" },
  { title: "Water the plants", due: "2026-12-11", done: false, cost: 0, tags: ["home"] },
  { title: "Send the photos to Grandma", due: "2026-12-18", done: false, tags: ["family"], asked_by: "Ada" },
  { title: "Plan the summer in Bergen", due: "2027-01-15", done: false, cost: 1250, tags: ["travel", "family"] }
]

const signIn = async (page: Page, url: string, secret: string): Promise<void> => {
  await page.goto(`${url}/?local=${secret}`)
  await page.getByLabel("Email address").fill(email)
  await page.getByRole("button", { name: "Get a code" }).click()
  await page.getByLabel("6-digit code").fill(await page.locator(".local-mail code").innerText())
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Tables" }).waitFor()
}

await using server = await startTestServer()
const { apiKey } = await server.signIn(email)
const table = createClient({ apiKey, baseUrl: server.url }).table("tasks")
for (const row of tasks) await table.add(row)

const browser = await chromium.launch({
  executablePath: await Effect.runPromise(findChromium),
  args: launchArguments()
})
try {
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor })
  const page = await context.newPage()
  await signIn(page, server.url, server.localSecret ?? "")
  await page.goto(`${server.url}/tables/tasks?sort=due`)
  const columns = page.locator("summary", { hasText: "Columns" })
  await columns.click()
  for (const name of ["id", "created_at"]) await page.getByRole("checkbox", { name, exact: true }).uncheck()
  await columns.click()
  await page.mouse.move(0, 0)
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    const path = fileURLToPath(new URL(`../../.github/console-${colorScheme}.png`, import.meta.url))
    await page.screenshot({ path })
    const bytes = statSync(path).size
    console.log(`${path}: ${bytes} bytes`)
    if (bytes > mostBytes) process.exitCode = 1
  }
} finally {
  await browser.close()
}

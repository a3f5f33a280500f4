import { Effect } from "effect"
import type { Page } from "playwright-core"
import { Browser, type Visitor } from "./Browser.ts"

export const run = <A>(step: () => Promise<A>) => Effect.promise(step)

/** Opens a page and waits until its editor is there, if it has one. */
export const openEditor = (page: Page, address: string) =>
  run(async () => {
    await page.goto(address)
    const editors = await page.locator("textarea[data-editor]").count()
    if (editors > 0) await page.locator(".cm-content").waitFor()
  })

/** Opens a link's page in a new browser. */
export const openLink = Effect.fnUntraced(function* (address: string, visitor: Visitor = {}) {
  const visit = yield* (yield* Browser).visit(visitor)
  visit.page.on("dialog", (dialog) => void dialog.accept())
  yield* openEditor(visit.page, address)
  return visit
})

/** Presses a button by its whole name. */
export const press = (page: Page, name: string) => run(() => page.getByRole("button", { name, exact: true }).click())

/** Waits for a text on the page. */
export const see = (page: Page, text: string | RegExp) => run(() => page.getByText(text).first().waitFor())

/** Types at the start of the text editor, behind so many characters. */
export const typeAtStart = (page: Page, text: string, skipped = 0) =>
  run(async () => {
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+Home")
    for (let i = 0; i < skipped; i++) await page.keyboard.press("ArrowRight")
    await page.keyboard.type(text)
  })

/** Saves by the keyboard and waits until the page says so. */
export const save = (page: Page) =>
  run(async () => {
    await page.keyboard.press("Control+s")
    await page.getByText("Saved.").waitFor()
  })

/** Requests that left the origin. */
export const foreign = (requests: ReadonlyArray<string>, address: string): ReadonlyArray<string> =>
  requests.filter((request) => !/^(?:data|blob):/.test(request) && new URL(request).origin !== new URL(address).origin)

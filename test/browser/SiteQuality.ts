import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { asset } from "../../src/server/pages/Assets.ts"
import { sitePaths } from "../support/SitePaths.ts"
import { Browser, browserSuite } from "../support/Browser.ts"
import { faultsOfLooks } from "../support/Looks.ts"
import { BaseUrl, request, serviceLayer } from "../support/TestService.ts"

/** Every page that browsers show. */
export const everyPage = [...sitePaths.filter((path) => !/\.(?:json|txt|md|ico)$/.test(path)), "/sign-in?token=unknown"]

/** Looks at pages of the site as people do: on phones and screens, light and dark, with the keyboard, without scripts. */
export const qualityOf = (name: string, pages: ReadonlyArray<string>): void =>
  browserSuite(name, serviceLayer(), (it) => {
    for (const [what, some] of [
      ["documentation", pages.filter((path) => path.startsWith("/docs"))],
      ["others", pages.filter((path) => !path.startsWith("/docs"))]
    ] as const) {
      it.effect(
        `of the ${what} is accessible, and keeps to the origin and its width, on phones and screens, light and dark`,
        () =>
          Effect.gen(function* () {
            const { url } = yield* BaseUrl
            const { complaints, page, requests } = yield* (yield* Browser).visit()
            const faults: Array<string> = []
            for (const path of some) {
              yield* Effect.promise(() => page.goto(url + path))
              faults.push(...(yield* faultsOfLooks(page, path)))
              assert.isAbove(yield* Effect.promise(() => page.locator("h1").count()), 0, path)
            }
            assert.deepStrictEqual(faults, [])
            assert.deepStrictEqual(
              complaints.filter((text) => !text.includes("401")),
              []
            )
            assert.deepStrictEqual(
              requests.filter((address) => !address.startsWith(url) && !address.startsWith("data:")),
              []
            )
          })
      )
    }

    it.effect("is under 100 KB over the wire with all that it loads", () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const sizeOf = (path: string) =>
          Effect.promise(async () => {
            const answer = await fetch(url + path, { method: "HEAD", headers: { "accept-encoding": "br" } })
            return Number(answer.headers.get("content-length"))
          })
        const loaded = yield* Effect.forEach(["site.css", "site.js", "home.js", "docs.js"].map(asset), sizeOf)
        for (const path of pages.filter((path) => !path.includes("?"))) {
          const total = loaded.reduce((sum, size) => sum + size, yield* sizeOf(path))
          assert.isAbove(total, 2000, path)
          assert.isBelow(total, 100_000, path)
        }
      })
    )

    it.effect("can be used with the keyboard alone: every control is reached, and shows it", () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { page } = yield* (yield* Browser).visit()
        for (const path of pages) {
          yield* Effect.promise(() => page.goto(url + path))
          const count = yield* Effect.promise(() =>
            page.evaluate<number>(`(() => {
            const all = [...document.querySelectorAll("a[href],button,input:not([type=hidden]),textarea,summary")]
            window.unreached = new Set(all.filter((e) => e.tabIndex >= 0 && e.checkVisibility()))
            window.unmarked = []
            addEventListener("focusin", ({ target }) => {
              window.unreached.delete(target)
              const style = getComputedStyle(target)
              if (style.outlineStyle === "none" || style.outlineWidth === "0px") window.unmarked.push(target.outerHTML)
            })
            return window.unreached.size
          })()`)
          )
          for (let pressed = 0; pressed < count + 3; pressed++) yield* Effect.promise(() => page.keyboard.press("Tab"))
          const left = yield* Effect.promise(() =>
            page.evaluate(`({ unmarked, unreached: [...unreached].map((e) => e.outerHTML) })`)
          )
          assert.deepStrictEqual(left, { unmarked: [], unreached: [] }, path)
        }
      })
    )

    it.effect("says the same to whoever has no scripts", () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { page } = yield* (yield* Browser).visit({ javaScript: false })
        yield* Effect.promise(() => page.goto(url))
        assert.isTrue(yield* Effect.promise(() => page.getByRole("button", { name: "Get a code" }).isVisible()))
        assert.isTrue(yield* Effect.promise(() => page.getByRole("heading", { name: "Code", exact: true }).isVisible()))
        assert.strictEqual((yield* request("GET", "/")).status, 200)
      })
    )
  })

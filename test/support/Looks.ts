import { Effect } from "effect"
import type { Page } from "playwright-core"
import { accessibilityFaults, sidewaysScroll } from "./Browser.ts"
import { run } from "./Viewer.ts"

/** Layout depends on the width and colours on the scheme, so two looks see all of both. */
const looks = [
  { width: 360, colorScheme: "light" },
  { width: 1440, colorScheme: "dark" }
] as const

/** What is wrong with the looks of the page as it is, on phones and screens, light and dark. */
export const faultsOfLooks = Effect.fnUntraced(function* (page: Page, what: string) {
  const faults: Array<string> = []
  for (const { colorScheme, width } of looks) {
    yield* run(() => page.setViewportSize({ width, height: 800 }))
    yield* run(() => page.emulateMedia({ colorScheme }))
    yield* seenAs(page, colorScheme, width)
    const sideways = yield* sidewaysScroll(page)
    const found = yield* accessibilityFaults(page)
    faults.push(
      ...(sideways > 0 ? [`${what} scrolls sideways by ${sideways} px at ${width} px`] : []),
      ...found.map((fault) => `${what} at ${width} px, ${colorScheme}: ${fault}`)
    )
  }
  return faults
})

/** Waits until the page is drawn anew: what looks at it must not see some of it as it was. */
const seenAs = (page: Page, colorScheme: string, width: number) =>
  run(() =>
    page.evaluate(`new Promise((done) => {
      const look = () =>
        matchMedia("(prefers-color-scheme: ${colorScheme})").matches && innerWidth === ${width}
          ? requestAnimationFrame(done)
          : requestAnimationFrame(look)
      requestAnimationFrame(look)
    })`)
  )

/** Whether the characters of an element are painted in their order: from left to right, line below line. */
export const isInOrder = (page: Page, selector: string) =>
  run(() =>
    page.evaluate<boolean>(`(() => {
      const texts = document.createTreeWalker(document.querySelector("${selector}"), NodeFilter.SHOW_TEXT)
      const places = []
      while (texts.nextNode()) {
        for (let at = 0; at < texts.currentNode.length; at++) {
          const range = new Range()
          range.setStart(texts.currentNode, at)
          range.setEnd(texts.currentNode, at + 1)
          const [place] = range.getClientRects()
          if (place !== undefined) places.push(place)
        }
      }
      return places.length > 0 && places.every(({ bottom, left }, at) => {
        const before = places[at - 1]
        return before === undefined || left >= before.left || bottom > before.bottom + 8
      })
    })()`)
  )

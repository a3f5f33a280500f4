import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { browserSuite } from "../support/Browser.ts"
import { open, signedInVisit } from "../support/ConsentPages.ts"
import { faultsOfLooks } from "../support/Looks.ts"
import { BaseUrl, request, serviceLayer } from "../support/TestService.ts"

browserSuite("Every page of the console", serviceLayer(), (it) => {
  for (const [what, paths] of Object.entries({
    "of tables": [
      "/tables",
      "/tables/notes?search=w&sort=-n&filter=%7B%22n%22%3A%7B%22gte%22%3A1%7D%7D",
      "/tables/none"
    ],
    "of a row": ["/tables/notes/ID", "/tables/notes/ID?view=json", "/tables/notes/ID?view=history"],
    "of new rows and of what happened": ["/tables/notes/_add", "/activity", "/activity/deleted"],
    "of the account": ["/apps", "/keys", "/account"]
  })) {
    it.effect(`reads every page ${what} on phones and screens, light and dark`, () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { complaints, page, person } = yield* signedInVisit()
        const faults: Array<string> = []
        if (paths.includes("/tables")) faults.push(...(yield* openAndLook(page, `${url}/tables`, "no tables")))
        const row = `{"${"long name ".repeat(9)}":"${"W".repeat(400)}","n":1.10,"o":{"a":[1,null]},"z":null,"t":true}`
        const added = yield* request("POST", "/v1/notes", { key: person.apiKey, body: row })
        const id = /"id":"([^"]*)"/.exec(added.text)?.[1] ?? ""
        yield* request("POST", "/v1/notes/update_row", { key: person.apiKey, body: `{"id":"${id}","patch":{"n":2}}` })
        for (const path of paths) faults.push(...(yield* openAndLook(page, url + path.replace("ID", id), path)))
        assert.deepStrictEqual(faults, [])
        assert.deepStrictEqual(
          complaints.filter((text) => !text.includes("404")),
          []
        )
      })
    )
  }
})

const openAndLook = Effect.fnUntraced(function* (page: Parameters<typeof open>[0], address: string, what: string) {
  yield* open(page, address)
  return yield* faultsOfLooks(page, what)
})

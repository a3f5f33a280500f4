import { readFile } from "node:fs/promises"

/** @type {ReadonlyArray<[what: string, found: RegExp, replacement: string]>} */
const patches = [
  // Else the Content-Security-Policy would have to allow every inline style.
  [
    "style elements without the page's nonce",
    /document\.createElement\("style"\)/g,
    'Object.assign(document.createElement("style"),{nonce:document.querySelector("script[nonce]")?.nonce??""})'
  ],
  // The roles promise a structure that the elements below them do not have, which misleads screen readers.
  ["a tree without the structure of one", /<div role="tree" tabindex="-1">/g, '<div tabindex="-1">'],
  ["tree items outside of groups", /<div role="treeitem" tabindex="-1">/g, '<div role="group" tabindex="-1">'],
  ["selected elements without a role for it", /\$s\(\w+,"aria-selected",yi\(\w+\)\),/g, ""],
  ["a table without the structure of one", /<div role="table">/g, "<div>"],
  ["a menu of other things than menu items", /<div role="menu" tabindex="-1"/g, '<div role="group" tabindex="-1"'],
  [
    "buttons inside of a button",
    /<div role="button" tabindex="0" class="jse-dropdown-button/g,
    '<div class="jse-dropdown-button'
  ],
  ["a button without a name", /data-type="jse-open-dropdown">/g, 'data-type="jse-open-dropdown" aria-label="More">'],
  [
    "a field without a name",
    /<input type="text" readonly="" tabindex="-1"/g,
    '<input type="text" readonly="" tabindex="-1" aria-label="Menu"'
  ],
  ["labels on icons that are decoration", /role:\w+\(\)\?"img":"presentation"/g, '"aria-hidden":"true"']
]

/**
 * Mends what the JSON editor's bundle offers no option for. Each fault has to be there exactly once, so that a new version
 * of the library cannot pass by unread.
 *
 * @type {import("esbuild").Plugin}
 */
export const patchJsonEditor = {
  name: "patch-json-editor",
  setup(build) {
    build.onLoad({ filter: /[\\/]vanilla-jsoneditor[\\/]index\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8")
      for (const [what, found, replacement] of patches) {
        const count = contents.match(found)?.length ?? 0
        if (count !== 1) throw new Error(`${path}: expected ${what} in one place, found ${count}.`)
        contents = contents.replace(found, () => replacement)
      }
      return { contents, loader: "js" }
    })
  }
}

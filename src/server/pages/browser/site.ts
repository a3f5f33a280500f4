import { addCopyButtons } from "./Copy.ts"

addCopyButtons(document)

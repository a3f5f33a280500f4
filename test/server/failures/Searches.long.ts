import { longBudget } from "../../support/LongBudget.ts"
import { stallNobody } from "./SearchesCases.ts"

const names = [
  "accents",
  "ligatures of 18 letters",
  "escaped text",
  "long arrays",
  "long numbers",
  "many fields"
] as const

// Another table comes first each day, so that a budget that is too small for all of them leaves none out for good.
const first = Math.floor(Date.now() / 86_400_000) % names.length

stallNobody([...names.slice(first), ...names.slice(0, first)], longBudget())

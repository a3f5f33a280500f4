import { stallNobody } from "./SearchesCases.ts"

stallNobody(["accents", "ligatures of 18 letters", "escaped text", "long arrays", "long numbers", "many fields"])

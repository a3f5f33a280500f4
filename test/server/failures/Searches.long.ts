import { stallNobody } from "./SearchesCases.ts"

stallNobody(["accents", "escaped text", "long arrays", "long numbers", "many fields"])

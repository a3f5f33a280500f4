import { stringClose } from "./SkipValue.ts"

/** Validated, compact JSON over several lines, each value and name spelled as it is. */
export const indented = (compact: string): string => {
  let pretty = ""
  let depth = 0
  let from = 0
  const line = () => "\n" + "  ".repeat(depth)
  const cut = (at: number) => {
    pretty += compact.slice(from, at)
    from = at + 1
  }
  for (let i = 0; i < compact.length; i++) {
    const unit = compact.charAt(i)
    if (unit === '"') {
      i = stringClose(compact, i)
    } else if (unit === "{" || unit === "[") {
      const close = compact.charAt(i + 1)
      if (close === "}" || close === "]") {
        i++
        continue
      }
      cut(i)
      depth++
      pretty += unit + line()
    } else if (unit === "}" || unit === "]") {
      cut(i)
      depth--
      pretty += line() + unit
    } else if (unit === ",") {
      cut(i)
      pretty += "," + line()
    } else if (unit === ":") {
      cut(i)
      pretty += ": "
    }
  }
  return pretty + compact.slice(from)
}

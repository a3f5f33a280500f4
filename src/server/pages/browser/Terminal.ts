interface Call {
  readonly method: string
  readonly path: string
  readonly body: string | undefined
  readonly key: string | undefined
}

interface Answer {
  readonly ok: boolean
  readonly json: unknown
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Secrets are shown as far as they tell which one they are. */
const withoutSecrets = (text: string): string =>
  text.replace(/(svc_live_[a-z0-9]{4})[\w-]+/g, "$1…").replace(/("token":"|[?&]token=)([\w-]{4})[\w-]+/g, "$1$2…")

/** Shows requests and their answers as they went over the wire. */
export const makeTerminal = (place: HTMLElement) => {
  const line = (className: string, text: string): HTMLElement => {
    const element = document.createElement(className === "say" ? "p" : "pre")
    element.className = className
    element.textContent = text
    if (place.dataset["used"] === undefined) place.replaceChildren()
    place.dataset["used"] = ""
    place.append(element)
    place.scrollTop = place.scrollHeight
    return element
  }

  const send = async ({ body, key, method, path }: Call): Promise<Answer> => {
    line("request", withoutSecrets(`${method} ${path}${body === undefined ? "" : `\n${body}`}`))
    const started = performance.now()
    try {
      const response = await fetch(path, {
        method,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" })
        },
        ...(body === undefined ? {} : { body })
      })
      const text = await response.text()
      const milliseconds = Math.round(performance.now() - started)
      const json = parsed(text)
      line(
        response.ok ? "answer" : "answer failed",
        `${response.status} in ${milliseconds} ms\n${withoutSecrets(text)}`
      )
      return { ok: response.ok, json }
    } catch {
      line("answer failed", "No answer. Check your connection, then try again.")
      return { ok: false, json: undefined }
    }
  }

  const link = (text: string, address: string): void => {
    const anchor = document.createElement("a")
    anchor.href = address
    anchor.target = "_blank"
    anchor.rel = "noopener"
    anchor.textContent = text
    line("say", "").append(anchor)
  }

  return { say: (text: string) => void line("say", text), send, link }
}

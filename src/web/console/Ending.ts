const minute = 60_000
const warnBefore = 5 * minute

/** `23 min`, or `40 s` in the last minute. */
const remaining = (milliseconds: number): string => {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds > 60 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`
}

/** Says beside the time at which a link expires how long that is from now, by the service's clock. */
export const countingDown = (time: HTMLTimeElement): void => {
  const line = time.parentElement!
  const left = document.createElement("span")
  time.after(left)
  // A clock that doesn't jump when the device's clock is set.
  const offset = Date.parse(time.dataset["now"]!) - performance.now()
  const ends = Date.parse(time.dateTime)
  const tick = (): void => {
    const rest = ends - offset - performance.now()
    if (rest <= 0) {
      line.textContent =
        "This link has expired. What you typed stays here until you close the page. To save it, ask for a new link and open it in this tab."
      line.setAttribute("role", "alert")
      line.className = "warning"
      for (const download of document.querySelectorAll("main a[download]")) download.remove()
      return
    }
    left.textContent = ` (${remaining(rest)})`
    line.classList.toggle("warning", rest < warnBefore)
    setTimeout(tick, Math.min(rest, rest > minute + 1000 ? 5000 : 250))
  }
  tick()
}

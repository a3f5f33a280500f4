/** What a check found. `fix` says what to do where it is not `ok`; a check is `skipped` when another one has to pass first. */
export interface Finding {
  readonly check: string
  readonly status: "ok" | "warning" | "failed" | "skipped"
  readonly detail: string
  readonly fix?: string
}

export const ok = (check: string, detail: string): Finding => ({ check, status: "ok", detail })
export const skipped = (check: string, detail: string): Finding => ({ check, status: "skipped", detail })
export const warning = (check: string, detail: string, fix: string): Finding => ({
  check,
  status: "warning",
  detail,
  fix
})
export const failed = (check: string, detail: string, fix: string): Finding => ({
  check,
  status: "failed",
  detail,
  fix
})

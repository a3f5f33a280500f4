import { readFileSync } from "node:fs"
import { join } from "node:path"

const folders = new Map<string, string>()

/** Says where the service on a port has its `DATA_DIR`. */
export const keepsDataIn = (port: number, folder: string): void => void folders.set(String(port), folder)

/** The local secret of a service that this worker started, as whoever started it reads it. */
export const localSecretOf = (url: string): string => {
  const { port } = new URL(url)
  const folder = folders.get(port)
  if (folder === undefined) throw new Error(`No test started a service on port ${port}`)
  return readFileSync(join(folder, "local-secret"), "utf8")
}

/** The header with which a service shows what it would mail. */
export const localHeadersOf = (url: string): Record<string, string> => ({ "x-local-secret": localSecretOf(url) })

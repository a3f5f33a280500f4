import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Npm's codes for a registry that cannot be reached, as opposed to one that gives something wrong. */
const unreachable = /npm error code (ENOTFOUND|EAI_AGAIN|ECONN[A-Z]+|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|E50\d)/

/**
 * The folder of a program that `npm ci` does not bring, because only its tests need it and it is large. It is installed
 * once, from its lock file in a folder of its own, without running any script of a package. Why it could not be, where
 * the registry does not answer. Programs that are binaries come as optional packages, one for each platform.
 */
export const installTool = (
  tool: string,
  {
    isWithOptional = false,
    within = "test/clients/tools"
  }: { readonly isWithOptional?: boolean; readonly within?: string } = {}
): { readonly folder: string } | { readonly fault: string } => {
  const source = join(root, within, tool)
  const version = createHash("sha256")
    .update(readFileSync(join(source, "package-lock.json")))
    .digest("hex")
    .slice(0, 16)
  const cache = join(root, "node_modules/.cache/agent-memory-clients")
  const folder = join(cache, `${tool}-${version}`)
  if (existsSync(folder)) return { folder }
  mkdirSync(cache, { recursive: true })
  const made = mkdtempSync(join(cache, `${tool}-new-`))
  try {
    cpSync(source, made, { recursive: true })
    const { error, status, stderr } = spawnSync(
      "npm",
      [
        "ci",
        "--prefix",
        made,
        "--ignore-scripts",
        ...(isWithOptional ? [] : ["--omit=optional"]),
        "--no-audit",
        "--prefer-offline",
        "--fetch-retries=1",
        "--fetch-retry-mintimeout=1000",
        "--fetch-timeout=20000"
      ],
      { cwd: made, encoding: "utf8", timeout: isWithOptional ? 600_000 : 180_000 }
    )
    if (error !== undefined) return { fault: `npm: ${error.message}` }
    if (status !== 0) {
      const reason = unreachable.exec(stderr)?.[1]
      if (reason === undefined) throw new Error(stderr)
      return { fault: reason }
    }
    // Another run may have been faster.
    if (!existsSync(folder)) renameSync(made, folder)
    return { folder }
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

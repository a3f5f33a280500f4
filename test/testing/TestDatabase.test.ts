import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { throwAwayFolder } from "../../src/testing/TestDatabase.ts"
import { currentOwner } from "../../src/server/sql/EmbeddedAccess.ts"

const use = (look: (folder: string) => void) =>
  Effect.runSync(Effect.scoped(Effect.tap(throwAwayFolder, (folder) => Effect.sync(() => look(folder)))))

describe("A folder to throw away", () => {
  afterEach(() => void vi.unstubAllEnvs())

  it("is within reach of the database's user, also where the temporary folder is not", () => {
    const closed = mkdtempSync(join(tmpdir(), "agent-memory-closed-"))
    chmodSync(closed, 0o700)
    mkdirSync(join(closed, "tmp"))
    vi.stubEnv("TMPDIR", join(closed, "tmp"))
    try {
      use((folder) => assert.isTrue(currentOwner().reaches(join(folder, ".."))))
    } finally {
      rmSync(closed, { recursive: true })
    }
  })

  it("is gone after its use", () => {
    assert.isFalse(existsSync(use((folder) => assert.isTrue(existsSync(folder)))))
  })
})

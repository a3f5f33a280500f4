import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs"

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants

/**
 * Opens a file that another user can write, for a process that may read and write everything: never through a link to
 * somewhere else, never by a second name of another file, and never a pipe, which would hold the process.
 */
const withRegularFile = <A>(file: string, flags: number, use: (descriptor: number) => A): A => {
  const descriptor = openSync(file, flags | O_NOFOLLOW | O_NONBLOCK)
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile() || found.nlink !== 1) throw new Error(`${file} is not a file of its own`)
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The text of such a file. */
export const readForeign = (file: string): string =>
  withRegularFile(file, O_RDONLY, (descriptor) => readFileSync(descriptor, "utf8"))

/** Changes the text of such a file. */
export const changeForeign = (file: string, change: (text: string) => string): void =>
  withRegularFile(file, O_RDWR, (descriptor) => {
    const text = change(readFileSync(descriptor, "utf8"))
    ftruncateSync(descriptor)
    writeSync(descriptor, text, 0)
  })

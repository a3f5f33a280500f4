const messageLength = (bytes: Buffer, offset: number): number | undefined =>
  bytes.length < offset + 4 ? undefined : bytes.readInt32BE(offset) + offset

/** The whole messages of a stream of PostgreSQL's, with its type where it has one; the client's first message has none. */
export class Messages {
  private rest: Buffer = Buffer.alloc(0)
  private hasTypes: boolean

  constructor(hasTypes: boolean) {
    this.hasTypes = hasTypes
  }

  take(chunk: Buffer): ReadonlyArray<{ readonly type: string; readonly bytes: Buffer }> {
    this.rest = Buffer.concat([this.rest, chunk])
    const taken: Array<{ readonly type: string; readonly bytes: Buffer }> = []
    while (true) {
      const offset = this.hasTypes ? 1 : 0
      const length = messageLength(this.rest, offset)
      if (length === undefined || this.rest.length < length) return taken
      const type = this.hasTypes ? String.fromCharCode(this.rest[0]!) : ""
      taken.push({ type, bytes: this.rest.subarray(0, length) })
      this.rest = this.rest.subarray(length)
      this.hasTypes = true
    }
  }
}

/**
 * Gathers chunks of bytes. One chunk stays what it is; from the second on they are copied into a buffer that grows, so that
 * an upstream that sends its answer in crumbs costs no more memory than the answer.
 */
export class Bytes {
  #first: Buffer | null = null
  #buffer: Buffer | null = null
  length = 0

  add(chunk: Buffer): void {
    const length = this.length + chunk.length
    if (this.#first === null) {
      this.#first = chunk
    } else {
      if (this.#buffer === null || this.#buffer.length < length) {
        const grown = Buffer.allocUnsafeSlow(Math.max(2 * length, 4096))
        grown.set(this.#buffer === null ? this.#first : this.#buffer.subarray(0, this.length))
        this.#buffer = grown
      }
      this.#buffer.set(chunk, this.length)
    }
    this.length = length
  }

  /** Everything so far; begins anew. */
  take(): Buffer {
    const all = this.#buffer?.subarray(0, this.length) ?? this.#first ?? Buffer.alloc(0)
    this.#first = null
    this.#buffer = null
    this.length = 0
    return all
  }
}

/**
 * Collects chunks of bytes. A single chunk is not copied; from the second on, chunks are copied into one growing
 * buffer, so many tiny chunks take no more memory than their bytes.
 */
export class GrowableBuffer {
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

  /** Returns all bytes so far and resets the buffer. */
  take(): Buffer {
    const all = this.#buffer?.subarray(0, this.length) ?? this.#first ?? Buffer.alloc(0)
    this.#first = null
    this.#buffer = null
    this.length = 0
    return all
  }
}

import { noop } from '../lib/noop.ts'
import { scanBuffer } from './scan.ts'

/** Bytes in several buffers, as received: concatenating a large answer costs more than relaying it. */
export type BufferList = readonly Buffer[]

export const totalLength = (buffers: BufferList): number => buffers.reduce((sum, { length }) => sum + length, 0)

/** Returns the bytes from `start` up to `end` without copying them. */
export function sliceBuffers(buffers: BufferList, start: number, end: number): Buffer[] {
  const cut: Buffer[] = []
  let at = 0
  for (const buffer of buffers) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, buffer.length)]
    if (from < to) cut.push(from === 0 && to === buffer.length ? buffer : buffer.subarray(from, to))
    at += buffer.length
    if (at >= end) break
  }
  return cut
}

export const concatBuffers = (buffers: BufferList): Buffer =>
  buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers)

/** Returns true if `text` begins at an offset of a buffer; it may end in a later one. */
function startsAt(buffers: BufferList, index: number, offset: number, text: string): boolean {
  let [i, at] = [index, offset]
  for (let matched = 0; matched < text.length; matched++) {
    while (at === buffers[i]!.length) {
      if (++i === buffers.length) return false
      at = 0
    }
    if (buffers[i]![at++] !== text.charCodeAt(matched)) return false
  }
  return true
}

/** Searches for `text`, which must be ASCII, also across the boundaries of buffers. Allocates nothing. */
export function includesText(buffers: BufferList, text: string): boolean {
  for (const [index, buffer] of buffers.entries()) {
    if (buffer.includes(text, 0, 'latin1')) return true
    if (index === buffers.length - 1) return false
    for (let at = Math.max(buffer.length - text.length + 1, 0); at < buffer.length; at++) {
      if (startsAt(buffers, index, at, text)) return true
    }
  }
  return false
}

/**
 * Smaller chunks are copied into a shared buffer, so that an answer in tiny chunks takes no more memory than its bytes.
 */
const MIN_CHUNK_BYTES = 16_384
/** Small, because most answers in two chunks are. */
const MIN_BUFFER_BYTES = 4_096
const MAX_BUFFER_BYTES = 65_536

/** Returns the filled part of a buffer; copied if most of the buffer is empty, which would stay in memory with it. */
const trimmed = (buffer: Buffer, filled: number): Buffer => {
  const part = buffer.subarray(0, filled)
  return 2 * filled < buffer.length ? Buffer.from(part) : part
}

/**
 * Collects the chunks of a stream. The first chunk and large ones are not copied; small ones share buffers, so many
 * tiny chunks take no more memory than their bytes.
 */
export class BufferCollector {
  length = 0
  #buffers: Buffer[] = []
  /** Buffer that small chunks are copied into; `#filled` bytes of it are used. */
  #open: Buffer | null = null
  #filled = 0

  add(chunk: Buffer): void {
    this.length += chunk.length
    if (chunk.length >= MIN_CHUNK_BYTES || (this.#buffers.length === 0 && !this.#open)) {
      this.#close()
      this.#buffers.push(chunk)
      return
    }
    if (!this.#open || this.#open.length - this.#filled < chunk.length) {
      this.#close()
      this.#open = Buffer.allocUnsafeSlow(Math.min(Math.max(2 * this.length, MIN_BUFFER_BYTES), MAX_BUFFER_BYTES))
    }
    this.#open.set(chunk, this.#filled)
    this.#filled += chunk.length
  }

  /** Returns the collected buffers and resets the collector. */
  take(): Buffer[] {
    this.#close()
    const all = this.#buffers
    this.#buffers = []
    this.length = 0
    return all
  }

  #close(): void {
    if (this.#open) this.#buffers.push(trimmed(this.#open, this.#filled))
    this.#open = null
    this.#filled = 0
  }
}

/** True while a text in the scratch memory is read in several turns of the event loop. */
let isScratchHeld = false

/** Keeps the scratch memory as it is, if these bytes are in it, until the returned function is called. */
export function holdScratch({ buffer }: Buffer): () => void {
  if (buffer !== scanBuffer.buffer) return noop
  isScratchHeld = true
  return () => {
    isScratchHeld = false
  }
}

/**
 * Returns the bytes in one buffer that is valid until the next call, or while `holdScratch` keeps it: up to 4 MiB are
 * copied into shared scratch memory. Allocating buffers of this size would cost a page fault for each 4 KiB, and garbage
 * collection.
 */
export function copyToScratch(buffers: BufferList): Buffer {
  if (buffers.length === 1) return buffers[0]!
  const length = totalLength(buffers)
  if (isScratchHeld || length > scanBuffer.length) return Buffer.concat(buffers)
  let at = 0
  for (const buffer of buffers) {
    scanBuffer.set(buffer, at)
    at += buffer.length
  }
  return scanBuffer.subarray(0, length)
}

import { scanBuffers } from './scan.ts'

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

/** Returns a `sliceBuffers` for parts in the order of their offsets: it passes over each buffer once. */
export function createSlicer(buffers: BufferList): (start: number, end: number) => Buffer[] {
  let index = 0
  let passed = 0
  return (start, end) => {
    while (index < buffers.length && passed + buffers[index]!.length <= start) passed += buffers[index++]!.length
    let last = index
    for (let at = passed; last < buffers.length && at < end; last++) at += buffers[last]!.length
    return sliceBuffers(buffers.slice(index, last), start - passed, end - passed)
  }
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
    if (!this.#open && this.#extendLast(chunk)) return
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

  /** Lengthens the last buffer if the chunk lies behind it in memory, as the parts of one socket read do. */
  #extendLast(chunk: Buffer): boolean {
    const last = this.#buffers.at(-1)
    if (!last || last.buffer !== chunk.buffer || last.byteOffset + last.length !== chunk.byteOffset) return false
    const length = last.length + chunk.length
    this.#buffers[this.#buffers.length - 1] = Buffer.from(chunk.buffer, last.byteOffset, length)
    return true
  }

  #close(): void {
    if (this.#open) this.#buffers.push(trimmed(this.#open, this.#filled))
    this.#open = null
    this.#filled = 0
  }
}

/** True for each scratch memory while a text in it is read, which may take several turns of the event loop. */
const isScratchHeld = scanBuffers.map(() => false)

/** Bytes copied in one step: some tenths of a millisecond, page faults included. */
const COPY_STEP_BYTES = 262_144

/** Copies the buffers into one that is as long as all of them, in steps. */
export function* copySteps(buffers: BufferList, into: Buffer): Generator<void, void> {
  let at = 0
  let next = COPY_STEP_BYTES
  for (const buffer of buffers) {
    into.set(buffer, at)
    at += buffer.length
    if (at < next) continue
    next = at + COPY_STEP_BYTES
    yield
  }
}

/** Returns a buffer of that length, and the index of the scratch memory that it is in; -1 if it has memory of its own. */
function openJoined(length: number): [bytes: Buffer, scratch: number] {
  // the smallest that is large enough, or none: a text of 10 kB does not wait for one of 10 MB, nor hold its memory
  const scratch = scanBuffers.findIndex((memory) => length <= memory.length)
  if (scratch < 0 || isScratchHeld[scratch]) return [Buffer.allocUnsafe(length), -1]
  return [scanBuffers[scratch]!.open().subarray(0, length), scratch]
}

/**
 * Reads bytes in one buffer, which is valid until `read` has completed. Several buffers are copied, in steps: up to 16 MiB
 * into shared scratch memory, since allocating a buffer of this size costs a page fault for each 4 KiB, and garbage
 * collection: V8 marks the whole heap once buffers have grown by 64 MiB. The generator must be run to its end.
 */
export function* readJoined<T>(buffers: BufferList, read: (bytes: Buffer) => Generator<void, T>): Generator<void, T> {
  if (buffers.length === 1) return yield* read(buffers[0]!)
  const [bytes, scratch] = openJoined(totalLength(buffers))
  if (scratch >= 0) isScratchHeld[scratch] = true
  try {
    yield* copySteps(buffers, bytes)
    return yield* read(bytes)
  } finally {
    if (scratch >= 0) isScratchHeld[scratch] = false
  }
}

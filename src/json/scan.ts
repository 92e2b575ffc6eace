import { BLOCK, FOUND_SUSPECT, FOUND_UNFINISHED, scanModule } from './scan-module.ts'

/** Exports of the WebAssembly module in `scan-module.ts`; offsets are into its memory. */
interface ScanExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  begin(): number
  check(at: number, end: number): number
  endOfString(at: number, end: number): number
}

const SMALL_BYTES = 4_194_304
const LARGE_BYTES = 16_777_216
const PART_BYTES = 32_768
/** Start of the memory for parts of texts outside `scanBuffers`; `check` overwrites a block after each. */
const PART_START = SMALL_BYTES + BLOCK

/** Part of the `WebAssembly` global, which the types of Node.js lack. */
interface Engine {
  readonly Module: new (bytes: Buffer) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

function load(bytes: number): ScanExports | null {
  try {
    const { Module, Instance } = (globalThis as unknown as { WebAssembly: Engine }).WebAssembly
    return new Instance(new Module(scanModule(Math.ceil(bytes / 65_536)))).exports as ScanExports
  } catch {
    // no SSE 4.1, no address space, or Node.js without WebAssembly: text.ts and bytes.ts fall back to JavaScript
    return null
  }
}

const small = load(PART_START + PART_BYTES + BLOCK)
const smallMemory = small?.memory.buffer
const bytesOfPart = smallMemory && Buffer.from(smallMemory, PART_START, PART_BYTES)

let large: ScanExports | null = null
let largeMemory: ArrayBuffer | undefined

/** Memory for a text that is scanned without a copy. It holds one text at a time, only during its parse. */
export interface ScanBuffer {
  /** Bytes. */
  readonly length: number
  /** Returns the memory, the same each time. Pages that no text has reached take no physical memory. */
  open(): Buffer
}

function scanBuffer(length: number, loadMemory: () => ArrayBuffer | undefined): ScanBuffer {
  let opened: Buffer | undefined
  const create = () => {
    const memory = loadMemory()
    return memory ? Buffer.from(memory, 0, length) : Buffer.allocUnsafeSlow(length)
  }
  return { length, open: () => (opened ??= create()) }
}

function loadLarge(): ArrayBuffer | undefined {
  large = load(LARGE_BYTES + BLOCK)
  largeMemory = large?.memory.buffer
  return largeMemory
}

/**
 * The smallest first. The large one is created for the first text that needs it: V8 counts its size towards the next
 * full collection, touched or not, which would come during the start.
 */
export const scanBuffers: readonly [small: ScanBuffer, large: ScanBuffer] = [
  scanBuffer(SMALL_BYTES, () => smallMemory),
  scanBuffer(LARGE_BYTES, loadLarge)
]

/** Returns the module whose memory holds the bytes; null if they are not in one of `scanBuffers`. */
function scannerOf({ buffer }: Buffer): ScanExports | null {
  if (buffer === smallMemory) return small
  return buffer === largeMemory ? large : null
}

/** Tests if the bytes are in one of `scanBuffers`, as `scanEndOfString` requires. */
export const isInScanBuffer = (bytes: Buffer): boolean => scannerOf(bytes) !== null

function scanWhole(scanner: ScanExports, at: number, end: number): number {
  scanner.begin()
  return scanner.check(at, end)
}

function scanParts(bytes: Buffer): number {
  small!.begin()
  const { length } = bytes
  let found = 0
  for (let at = 0; at < length; at += PART_BYTES) {
    const end = Math.min(at + PART_BYTES, length)
    bytesOfPart!.set(length <= PART_BYTES ? bytes : bytes.subarray(at, end))
    found = (found & ~FOUND_UNFINISHED) | small!.check(PART_START, PART_START + end - at)
    if ((found & FOUND_SUSPECT) !== 0) break
  }
  return found
}

/**
 * Scans a text for control characters and invalid escapes. Returns a set of `FOUND_CONTROL_SPACE` and
 * `FOUND_LETTER_ESCAPE`; the bit `FOUND_SUSPECT` means that the text must be checked character by character.
 */
export function scanText(bytes: Buffer): number {
  if (!small) return FOUND_SUSPECT
  const scanner = scannerOf(bytes)
  const { byteOffset, length } = bytes
  const found = scanner ? scanWhole(scanner, byteOffset, byteOffset + length) : scanParts(bytes)
  return (found & FOUND_UNFINISHED) === 0 ? found : FOUND_SUSPECT
}

/**
 * Returns the offset after the string that contains `at`; -1 if the string does not end before `limit`. `at` must not
 * be inside an escape, and the bytes must be in one of `scanBuffers`.
 */
export function scanEndOfString(bytes: Buffer, at: number, limit: number): number {
  const { byteOffset } = bytes
  const end = scannerOf(bytes)!.endOfString(byteOffset + at, byteOffset + limit)
  return end < 0 ? -1 : end - byteOffset
}

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
/** Start of the large buffer, and of that for parts of texts outside both; `check` overwrites a block after each. */
const LARGE_START = SMALL_BYTES + BLOCK
const PART_START = LARGE_START + LARGE_BYTES + BLOCK
const PAGES = Math.ceil((PART_START + PART_BYTES + BLOCK) / 65_536)

/** Part of the `WebAssembly` global, which the types of Node.js lack. */
interface Engine {
  readonly Module: new (bytes: Buffer) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

function load(): ScanExports | null {
  try {
    const { Module, Instance } = (globalThis as unknown as { WebAssembly: Engine }).WebAssembly
    return new Instance(new Module(scanModule(PAGES))).exports as ScanExports
  } catch {
    // no SSE 4.1, or Node.js without WebAssembly: text.ts and bytes.ts fall back to JavaScript
    return null
  }
}

const scan = load()
const memory = scan?.memory.buffer
const bytesOfPart = memory && Buffer.from(memory, PART_START, PART_BYTES)

/**
 * WebAssembly memory for texts that are scanned without a copy, the smallest first. Each holds one text at a time, only
 * during its parse. Pages that no text has reached take no memory.
 */
export const scanBuffers: readonly [small: Buffer, large: Buffer] = memory
  ? [Buffer.from(memory, 0, SMALL_BYTES), Buffer.from(memory, LARGE_START, LARGE_BYTES)]
  : [Buffer.allocUnsafeSlow(SMALL_BYTES), Buffer.allocUnsafeSlow(LARGE_BYTES)]

/** Tests if the bytes are in one of `scanBuffers`, as `scanEndOfString` requires. */
export const isInScanBuffer = (bytes: Buffer): boolean => bytes.buffer === memory

function scanParts(bytes: Buffer): number {
  const { length } = bytes
  let found = 0
  for (let at = 0; at < length; at += PART_BYTES) {
    const end = Math.min(at + PART_BYTES, length)
    bytesOfPart!.set(length <= PART_BYTES ? bytes : bytes.subarray(at, end))
    found = (found & ~FOUND_UNFINISHED) | scan!.check(PART_START, PART_START + end - at)
    if ((found & FOUND_SUSPECT) !== 0) break
  }
  return found
}

/**
 * Scans a text for control characters and invalid escapes. Returns a set of `FOUND_CONTROL_SPACE` and
 * `FOUND_LETTER_ESCAPE`; the bit `FOUND_SUSPECT` means that the text must be checked character by character.
 */
export function scanText(bytes: Buffer): number {
  if (!scan) return FOUND_SUSPECT
  scan.begin()
  const { byteOffset, length } = bytes
  const found = isInScanBuffer(bytes) ? scan.check(byteOffset, byteOffset + length) : scanParts(bytes)
  return (found & FOUND_UNFINISHED) === 0 ? found : FOUND_SUSPECT
}

/**
 * Returns the offset after the string that contains `at`; -1 if the string does not end before `limit`. `at` must not
 * be inside an escape, and the bytes must be in one of `scanBuffers`.
 */
export function scanEndOfString({ byteOffset }: Buffer, at: number, limit: number): number {
  const end = scan!.endOfString(byteOffset + at, byteOffset + limit)
  return end < 0 ? -1 : end - byteOffset
}

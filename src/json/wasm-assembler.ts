/**
 * WebAssembly code: an expression leaves its value on the stack, a statement leaves none. The builders below are named
 * as in the WebAssembly text format and nest like its folded form. Bytes stay nested until the module is assembled:
 * copying them at each level took 6 ms of every start.
 */
export type Code = readonly (number | Code)[]

/** Returns the bytes of nested code. */
function bytesOf(code: Code): number[] {
  const bytes: number[] = []
  const add = (part: Code) => {
    for (const each of part) {
      if (typeof each === 'number') bytes.push(each)
      else add(each)
    }
  }
  add(code)
  return bytes
}

/** Encodes signed LEB128, the format of constants. */
function signed(value: bigint): number[] {
  const bytes: number[] = []
  for (let rest = value; ;) {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    const isLast = (rest === 0n && (low & 0x40) === 0) || (rest === -1n && (low & 0x40) !== 0)
    bytes.push(isLast ? low : low | 0x80)
    if (isLast) return bytes
  }
}

/** Encodes unsigned LEB128, the format of indexes and lengths. */
function unsigned(value: number): number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest]
    bytes.push((rest & 0x7f) | 0x80)
  }
}

const operator =
  (...opcode: number[]) =>
  (...operands: readonly Code[]): Code => [...operands, ...opcode]
const simd = (opcode: number) => operator(0xfd, ...unsigned(opcode))

export const i32 = {
  const: (value: number): Code => [0x41, ...signed(BigInt(value | 0))],
  geU: operator(0x4f),
  add: operator(0x6a),
  or: operator(0x72),
  wrap: operator(0xa7)
}

export const i64 = {
  const: (value: bigint): Code => [0x42, ...signed(BigInt.asIntN(64, value))],
  ne: operator(0x52),
  clz: operator(0x79),
  ctz: operator(0x7a),
  add: operator(0x7c),
  and: operator(0x83),
  or: operator(0x84),
  xor: operator(0x85),
  shl: operator(0x86),
  shrU: operator(0x88),
  extendU: operator(0xad)
}

export const v128 = {
  load: (address: Code, offset: number): Code => [address, 0xfd, 0, 0, ...unsigned(offset)],
  store: (address: Code, value: Code, offset: number): Code => [address, value, 0xfd, 11, 0, ...unsigned(offset)],
  /** `bytes`: sixteen bytes. */
  const: (bytes: readonly number[]): Code => [0xfd, 12, ...bytes],
  /** The same byte sixteen times. */
  splat: (byte: number): Code => [0xfd, 12, ...Array<number>(16).fill(byte)],
  not: simd(77),
  and: simd(78),
  andnot: simd(79),
  or: simd(80),
  anyTrue: simd(83)
}

export const i8x16 = {
  swizzle: simd(14),
  eq: simd(35),
  ltU: simd(38),
  shrU: simd(109),
  bitmask: simd(100),
  sub: simd(113),
  minU: simd(119)
}

const VOID = 0x40
export const block = (...body: readonly Code[]): Code => [0x02, VOID, ...body, 0x0b]
export const loop = (...body: readonly Code[]): Code => [0x03, VOID, ...body, 0x0b]
export const when = (condition: Code, ...body: readonly Code[]): Code => [condition, 0x04, VOID, ...body, 0x0b]
/** Branches out of the block, or to the start of the loop, at nesting `depth`; 0 is the innermost. */
export const br = (depth: number): Code => [0x0c, depth]
export const returnValue = (value: Code): Code => [value, 0x0f]

export const globalGet = (index: number): Code => [0x23, index]
export const globalSet = (index: number, value: Code): Code => [value, 0x24, index]

export type ValueType = 'i32' | 'i64' | 'v128'
const types: Readonly<Record<ValueType, number>> = { i32: 0x7f, i64: 0x7e, v128: 0x7b }

export interface Local {
  readonly get: Code
  readonly set: (value: Code) => Code
}

/** A function with i32 parameters and an i32 result. */
export interface Func {
  readonly name: string
  readonly parameters: number
  readonly code: Code
}

/**
 * Assembles a function. `body` gets the parameters and a function that declares locals; its last value is the result.
 */
export function func(
  name: string,
  parameters: number,
  body: (given: readonly Local[], local: (type: ValueType) => Local) => readonly Code[]
): Func {
  const own: ValueType[] = []
  const at = (index: number): Local => ({
    get: [0x20, ...unsigned(index)],
    set: (value) => [value, 0x21, ...unsigned(index)]
  })
  const local = (type: ValueType) => at(parameters + own.push(type) - 1)
  const statements = body(
    Array.from({ length: parameters }, (_, index) => at(index)),
    local
  )
  const declared = own.flatMap((type) => [1, types[type]])
  return { name, parameters, code: [...unsigned(own.length), ...declared, ...statements, 0x0b] }
}

const vector = (items: readonly Code[]): Code => [...unsigned(items.length), ...items]
const sized = (code: Code): Code => {
  const bytes = bytesOf(code)
  return [...unsigned(bytes.length), ...bytes]
}
const section = (id: number, items: readonly Code[]): Code => [id, ...sized(vector(items))]
const text = (name: string): Code => sized([...Buffer.from(name)])

/** Assembles a module with an exported memory of `pages` × 64 KiB and `globals` mutable i64 variables, initially 0. */
export function assembleModule(
  functions: readonly Func[],
  { pages, globals }: { pages: number; globals: number }
): Buffer {
  const exported = functions.map(({ name }, index) => [...text(name), 0, index])
  const module: Code = [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(
      1,
      functions.map(({ parameters }) => [0x60, ...vector(Array<Code>(parameters).fill([types.i32])), 1, types.i32])
    ),
    ...section(
      3,
      functions.map((_, index) => [index])
    ),
    ...section(5, [[1, ...unsigned(pages), ...unsigned(pages)]]),
    ...section(6, Array<Code>(globals).fill([types.i64, 1, ...i64.const(0n), 0x0b])),
    ...section(7, [[...text('memory'), 2, 0], ...exported]),
    ...section(
      10,
      functions.map(({ code }) => sized(code))
    )
  ]
  return Buffer.from(bytesOf(module))
}

import { BACKSLASH, QUOTE, SPACE } from './characters.ts'
import {
  block,
  br,
  type Code,
  func,
  returnValue,
  globalGet,
  globalSet,
  i32,
  i64,
  i8x16,
  type Local,
  loop,
  assembleModule,
  type ValueType,
  v128,
  when
} from './wasm-assembler.ts'

/** Result bit of `check`: line breaks or tabs. */
export const FOUND_CONTROL_SPACE = 1
/** Result bit of `check`: possibly malformed JSON, or a lone surrogate. */
export const FOUND_SUSPECT = 2
/** Result bit of `check`: an escape or a surrogate pair continues after the end. */
export const FOUND_UNFINISHED = 4
/** Result bit of `check`: a `\uXXXX` for a character from U+0040 to U+007F, which need not be escaped. */
export const FOUND_LETTER_ESCAPE = 8

/** Bytes scanned together: one bit each in a 64-bit number. */
export const BLOCK = 64

const code = (character: string) => character.charCodeAt(0)

/** Bit sets by half byte: a byte is in the set if the entries of its low and its high half share a bit. */
const lowHalves = Array<number>(16).fill(0)
const highHalves = Array<number>(16).fill(0)
const escapes: readonly [high: number, characters: string][] = [
  [2, '"/'],
  [5, '\\'],
  [6, 'bfn'],
  [7, 'rtu']
]
for (const [bit, [high, characters]] of escapes.entries()) {
  highHalves[high] = 1 << bit
  for (const character of characters.split('')) lowHalves[code(character) & 15]! |= 1 << bit
}

/** Tests which bytes may follow a backslash. */
const mayBeEscaped = (bytes: Code) =>
  v128.and(
    i8x16.swizzle(v128.const(lowHalves), v128.and(bytes, v128.splat(15))),
    i8x16.swizzle(v128.const(highHalves), i8x16.shrU(bytes, i32.const(4)))
  )

const isBetween = (bytes: Code, first: string, last: string) =>
  i8x16.ltU(i8x16.sub(bytes, v128.splat(code(first))), v128.splat(code(last) - code(first) + 1))
const lowerCase = (bytes: Code) => v128.or(bytes, v128.splat(32))
const isHex = (bytes: Code) => v128.or(isBetween(bytes, '0', '9'), isBetween(lowerCase(bytes), 'a', 'f'))
/** Test the second digit of a high surrogate (8 to b) and of a low surrogate (c to f); the first digit of both is d. */
const is8ToB = (bytes: Code) => v128.or(isBetween(bytes, '8', '9'), isBetween(lowerCase(bytes), 'a', 'b'))
const isCToF = (bytes: Code) => isBetween(lowerCase(bytes), 'c', 'f')
/** Tests the third digit of a character from U+0040 to U+007F; the first two are zeros. */
const is4To7 = (bytes: Code) => isBetween(bytes, '4', '7')
const isByte = (bytes: Code, byte: number) => i8x16.eq(bytes, v128.splat(byte))

/** Returns a mask with a bit for each byte of the block that passes the test. */
const maskOf = (vectors: readonly Local[], test: (bytes: Code) => Code): Code =>
  vectors
    .map(({ get }, index) => i64.shl(i64.extendU(i8x16.bitmask(test(get))), i64.const(BigInt(16 * index))))
    .reduce((all, part) => i64.or(all, part))

const EVEN = 0x5555_5555_5555_5555n
const shl = (bits: Code, by: number) => i64.shl(bits, i64.const(BigInt(by)))
const shr = (bits: Code, by: number) => i64.shrU(bits, i64.const(BigInt(by)))
const not = (bits: Code) => i64.xor(bits, i64.const(-1n))
const isNonZero = (bits: Code) => i64.ne(bits, i64.const(0n))
const or = (...all: readonly Code[]) => all.reduce((some, one) => i64.or(some, one))

/**
 * Finds the bytes that follow a run of backslashes of odd length (G. Langdale, D. Lemire: Parsing Gigabytes of JSON per
 * Second, 2019): adding a run's first bit carries into the byte after the run, whose position tells the parity.
 * `slashes` loses its first bit if the previous block escapes that byte; `carry` becomes 1 if the next block's first
 * byte is escaped.
 */
const findEscaped = (slashes: Local, carry: Local, escaped: Local, starts: Local): Code[] => {
  const after = (parity: bigint) =>
    i64.and(i64.and(i64.add(slashes.get, i64.and(starts.get, i64.const(parity))), not(slashes.get)), i64.const(~parity))
  return [
    slashes.set(i64.and(slashes.get, not(carry.get))),
    starts.set(i64.and(slashes.get, not(shl(slashes.get, 1)))),
    escaped.set(or(after(EVEN), after(~EVEN), carry.get)),
    carry.set(i64.and(i64.clz(not(slashes.get)), i64.const(1n)))
  ]
}

/** State carried to the next block as masks of its first bytes; stored in globals between the parts of a text. */
const carryNames = ['escape', 'hex', 'second', 'low', 'unit', 'zero', 'zeros'] as const
type CarryLocals = Readonly<Record<(typeof carryNames)[number], Local>>
const escapeNames = [
  'escaped',
  'starts',
  'units',
  'hexDigits',
  'firstDigits',
  'secondDigits',
  'lows',
  'firstZeros',
  'secondZeros'
] as const
type EscapeLocals = Readonly<Record<(typeof escapeNames)[number], Local>>

const locals = <const T extends string>(names: readonly T[], local: (type: ValueType) => Local) =>
  Object.fromEntries(names.map((name) => [name, local('i64')])) as Record<T, Local>

const returnSuspect = returnValue(i32.const(FOUND_SUSPECT))
const mask = (vectors: readonly Local[], test: (bytes: Code) => Code, among: Code) =>
  i64.and(among, maskOf(vectors, test))

/** Finds escapes of characters from U+0040 to U+007F. The carried masks are those of the previous block's last byte. */
const findLetters = (vectors: readonly Local[], carried: CarryLocals, own: EscapeLocals, found: Local): Code[] => {
  const { units, firstZeros, secondZeros } = own
  const isZero = (bytes: Code) => isByte(bytes, code('0'))
  return [
    firstZeros.set(mask(vectors, isZero, or(shl(units.get, 1), carried.unit.get))),
    carried.unit.set(shr(units.get, 63)),
    when(
      isNonZero(or(firstZeros.get, carried.zero.get, carried.zeros.get)),
      secondZeros.set(mask(vectors, isZero, or(shl(firstZeros.get, 1), carried.zero.get))),
      carried.zero.set(shr(firstZeros.get, 63)),
      when(
        isNonZero(mask(vectors, is4To7, or(shl(secondZeros.get, 1), carried.zeros.get))),
        found.set(i32.or(found.get, i32.const(FOUND_LETTER_ESCAPE)))
      ),
      carried.zeros.set(shr(secondZeros.get, 63))
    )
  ]
}

/** Checks the digits of `\uXXXX`, and that surrogates are paired: their second digits are six bytes apart. */
const checkUnits = (vectors: readonly Local[], carried: CarryLocals, own: EscapeLocals, found: Local): Code[] => {
  const { units, hexDigits, firstDigits, secondDigits, lows } = own
  return [
    hexDigits.set(or(carried.hex.get, ...[1, 2, 3, 4].map((by) => shl(units.get, by)))),
    when(isNonZero(mask(vectors, (bytes) => v128.not(isHex(bytes)), hexDigits.get)), returnSuspect),
    // bit 3 of the carried digits: the block's first byte is the first of four digits
    firstDigits.set(
      mask(vectors, (bytes) => isByte(lowerCase(bytes), code('d')), or(shl(units.get, 1), shr(carried.hex.get, 3)))
    ),
    when(
      isNonZero(or(firstDigits.get, carried.second.get, carried.low.get)),
      secondDigits.set(or(shl(firstDigits.get, 1), carried.second.get)),
      lows.set(mask(vectors, isCToF, secondDigits.get)),
      secondDigits.set(mask(vectors, is8ToB, secondDigits.get)),
      when(i64.ne(or(shl(secondDigits.get, 6), carried.low.get), lows.get), returnSuspect),
      carried.second.set(shr(firstDigits.get, 63)),
      carried.low.set(shr(secondDigits.get, 58))
    ),
    ...findLetters(vectors, carried, own, found),
    carried.hex.set(or(...[60, 61, 62, 63].map((by) => shr(units.get, by))))
  ]
}

/** Checks the escapes of a block, given the mask of its backslashes. */
const checkEscapes = (
  vectors: readonly Local[],
  slashes: Local,
  carried: CarryLocals,
  own: EscapeLocals,
  found: Local
): Code[] => {
  const { escaped, starts, units } = own
  return [
    ...findEscaped(slashes, carried.escape, escaped, starts),
    when(isNonZero(mask(vectors, (bytes) => isByte(mayBeEscaped(bytes), 0), escaped.get)), returnSuspect),
    units.set(mask(vectors, (bytes) => isByte(bytes, code('u')), escaped.get)),
    when(isNonZero(or(units.get, carried.hex.get, carried.low.get)), ...checkUnits(vectors, carried, own, found))
  ]
}

const offsets = [0, 16, 32, 48]
const load = (vectors: readonly Local[], at: Local): Code[] =>
  vectors.map(({ set }, index) => set(v128.load(at.get, offsets[index]!)))

const isControl = (bytes: Code) => i8x16.ltU(bytes, v128.splat(SPACE))
const isWhite = (bytes: Code) => [9, 10, 13].map((byte) => isByte(bytes, byte)).reduce((a, b) => v128.or(a, b))
const anyOf = (vectors: readonly Local[], test: (bytes: Code) => Code) =>
  v128.anyTrue(vectors.map(({ get }) => test(get)).reduce((a, b) => v128.or(a, b)))

/**
 * `check(at, end)` scans the text from `at` up to `end` and returns result bits. It overwrites the 64 bytes after
 * `end`. A text may be checked in parts; all lengths but the last must be multiples of 64.
 */
const check = func('check', 2, ([at, end], local) => {
  const vectors = [local('v128'), local('v128'), local('v128'), local('v128')]
  const [slashes, found] = [local('i64'), local('i32')]
  const carried: CarryLocals = locals(carryNames, local)
  const own: EscapeLocals = locals(escapeNames, local)
  return [
    ...offsets.map((offset) => v128.store(end!.get, v128.splat(SPACE), offset)),
    ...carryNames.map((name, index) => carried[name].set(globalGet(index))),
    block(
      loop(
        when(i32.geU(at!.get, end!.get), br(2)),
        ...load(vectors, at!),
        when(
          v128.anyTrue(isControl(vectors.map(({ get }) => get).reduce((a, b) => i8x16.minU(a, b)))),
          when(
            anyOf(vectors, (bytes) => v128.andnot(isControl(bytes), isWhite(bytes))),
            returnSuspect
          ),
          found.set(i32.or(found.get, i32.const(FOUND_CONTROL_SPACE)))
        ),
        slashes.set(i64.const(0n)),
        // cheaper than the mask, which most blocks do not need
        when(
          anyOf(vectors, (bytes) => isByte(bytes, BACKSLASH)),
          slashes.set(maskOf(vectors, (bytes) => isByte(bytes, BACKSLASH)))
        ),
        when(
          isNonZero(or(slashes.get, carried.escape.get, carried.hex.get, carried.low.get)),
          ...checkEscapes(vectors, slashes, carried, own, found)
        ),
        at!.set(i32.add(at!.get, i32.const(BLOCK))),
        br(0)
      )
    ),
    ...carryNames.map((name, index) => globalSet(index, carried[name].get)),
    when(
      isNonZero(or(carried.escape.get, carried.hex.get, carried.low.get)),
      found.set(i32.or(found.get, i32.const(FOUND_UNFINISHED)))
    ),
    found.get
  ]
})

/** `begin()` resets the carried state before the first part of a text. */
const begin = func('begin', 0, () => [...carryNames.map((_, index) => globalSet(index, i64.const(0n))), i32.const(0)])

/** `endOfString(at, end)` returns the offset after a string's closing quotation mark; -1 if none is before `end`. */
const endOfString = func('endOfString', 2, ([at, end], local) => {
  const vectors = [local('v128'), local('v128'), local('v128'), local('v128')]
  const [slashes, quotes, carry, next] = [local('i64'), local('i64'), local('i64'), local('i64')]
  const [escaped, starts] = [local('i64'), local('i64')]
  return [
    block(
      loop(
        when(i32.geU(at!.get, end!.get), br(2)),
        ...load(vectors, at!),
        next.set(i64.const(0n)),
        when(
          anyOf(vectors, (bytes) => v128.or(isByte(bytes, QUOTE), isByte(bytes, BACKSLASH))),
          quotes.set(maskOf(vectors, (bytes) => isByte(bytes, QUOTE))),
          slashes.set(maskOf(vectors, (bytes) => isByte(bytes, BACKSLASH))),
          ...findEscaped(slashes, carry, escaped, starts),
          quotes.set(i64.and(quotes.get, not(escaped.get))),
          when(
            isNonZero(quotes.get),
            at!.set(i32.add(i32.add(at!.get, i32.wrap(i64.ctz(quotes.get))), i32.const(1))),
            when(i32.geU(end!.get, at!.get), returnValue(at!.get)),
            br(3)
          ),
          next.set(carry.get)
        ),
        carry.set(next.get),
        at!.set(i32.add(at!.get, i32.const(BLOCK))),
        br(0)
      )
    ),
    i32.const(-1)
  ]
})

/** Builds a WebAssembly module with these functions and a memory of `pages` × 64 KiB. */
export const scanModule = (pages: number): Buffer =>
  assembleModule([check, begin, endOfString], { pages, globals: carryNames.length })

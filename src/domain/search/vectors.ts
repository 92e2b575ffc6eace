/** Direction of a text in the space of a model: a signed byte per dimension, and the length of the whole. */
export interface Vector {
  readonly values: Int8Array
  readonly length: number
}

/** Most dimensions of a model */
export const MAX_DIMENSIONS = 4_096
const MAX_VALUE = 127

/** Returns a vector of stored bytes; undefined if they can be none. */
export function decodeVector(bytes: Uint8Array): Vector | undefined {
  const values = Int8Array.from(new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
  return length === 0 || values.length > MAX_DIMENSIONS ? undefined : { values, length }
}

/** Returns the vector of the numbers that a model gives; undefined if they are not finite, too many, or all zero. */
export function encodeVector(numbers: unknown): Vector | undefined {
  if (!Array.isArray(numbers) || numbers.length === 0 || numbers.length > MAX_DIMENSIONS) return undefined
  let largest = 0
  for (const number of numbers as unknown[]) {
    if (typeof number !== 'number' || !Number.isFinite(number)) return undefined
    largest = Math.max(largest, Math.abs(number))
  }
  if (largest === 0) return undefined
  return decodeVector(new Uint8Array(Int8Array.from(numbers as number[], (number) => (number / largest) * MAX_VALUE)))
}

/** Returns the cosine of the angle between two vectors of one model: 1 for equal directions. */
export function similarity(a: Vector, b: Vector): number {
  let sum = 0
  for (let i = 0; i < a.values.length; i++) sum += a.values[i]! * b.values[i]!
  return sum / (a.length * b.length)
}

/** A JSON object: not null, not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object, or `other` where it is none. */
export const objectOr = <T>(value: unknown, other: T): Readonly<Record<string, unknown>> | T =>
  isObject(value) ? value : other

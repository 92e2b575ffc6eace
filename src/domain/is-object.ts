/** Returns true for JSON objects: not null, not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns true for arrays that contain only strings. */
export const isStringArray = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Returns the value if it is an object, otherwise `other`. */
export const objectOr = <T>(value: unknown, other: T): Readonly<Record<string, unknown>> | T =>
  isObject(value) ? value : other

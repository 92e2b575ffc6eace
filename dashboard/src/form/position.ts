import type { Field } from './field.ts'
import type { Keywords } from './schema.ts'

/** Position of a field within its schema. */
export interface Place {
  readonly root: unknown
  /** Member name, or '' if this is no member. */
  readonly name: string
  readonly depth: number
  /** Builds the field of a place of any kind. */
  readonly build: (keywords: Keywords, place: Place) => Field
}

/** Memoizes a function without arguments. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

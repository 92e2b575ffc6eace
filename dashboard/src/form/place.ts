import type { Field } from './field.ts'
import type { Keywords } from './schema.ts'

/** Where in a schema a field stands. */
export interface Place {
  readonly root: unknown
  /** Of the member, '' where it is none. */
  readonly name: string
  readonly depth: number
  /** Makes the field of a place, whatever its kind. */
  readonly build: (keywords: Keywords, place: Place) => Field
}

/** Made when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

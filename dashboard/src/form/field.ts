import { equalJson, type Json } from './json.ts'

/** Properties common to all kinds of fields. */
export interface FieldBase {
  readonly title: string | undefined
  readonly description: string | undefined
  /** Type and limits in a few words: `integer ≥ 0`, `string[]`. */
  readonly type: string
  /** Further constraints: a pattern, or members that belong together. */
  readonly hints: readonly string[]
  /** True if null is allowed. */
  readonly nullable: boolean
  readonly fallback: Json | undefined
  readonly deprecated: boolean
}

export interface Option {
  readonly label: string
  readonly value: Json
}

/** Member of an object. */
export interface Member {
  readonly name: string
  readonly required: boolean
  readonly field: Field
}

export interface Variant {
  readonly label: string
  readonly field: Field
}

/** Form field of one place in a schema. Children are created lazily because a schema can be recursive. */
export type Field = FieldBase &
  (
    | { readonly kind: 'text'; readonly format: string | undefined; readonly isLong: boolean }
    | { readonly kind: 'number' }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly options: readonly Option[] }
    | { readonly kind: 'fixed'; readonly value: Json }
    | {
        readonly kind: 'object'
        readonly members: () => readonly Member[]
        /** Field for members that the schema does not list; undefined if none are allowed. */
        readonly extra: (() => Field) | undefined
      }
    | {
        readonly kind: 'list'
        /** Fields of the first items, if each position has its own schema. */
        readonly lead: () => readonly Field[]
        /** Field of all other items; undefined if none are allowed. */
        readonly item: (() => Field) | undefined
        /** True if the items are short texts or numbers. */
        readonly isTags: boolean
      }
    | { readonly kind: 'union'; readonly variants: () => readonly Variant[] }
    | { readonly kind: 'json'; readonly reason: string | undefined }
  )

export type FieldOf<Kind extends Field['kind']> = Extract<Field, { kind: Kind }>

/** Returns true if there is nothing to fill in. */
export const isEmptyObject = (root: Field): boolean =>
  root.kind === 'object' && root.members().length === 0 && root.extra === undefined

/** Returns the index of the option with this value, or -1. */
export const optionOf = (options: readonly Option[], value: Json | undefined): number =>
  options.findIndex((option) => equalJson(option.value, value))

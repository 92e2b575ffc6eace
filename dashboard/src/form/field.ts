import { equalJson, type Json } from './json.ts'

/** What the fields of all kinds have. */
export interface Common {
  readonly title: string | undefined
  readonly description: string | undefined
  /** Type and limits in few words: `integer ≥ 0`, `string[]`. */
  readonly type: string
  /** More that a caller has to know: a pattern, which members go together. */
  readonly hints: readonly string[]
  /** null is a value, too. */
  readonly nullable: boolean
  readonly fallback: Json | undefined
  readonly deprecated: boolean
}

export interface Option {
  readonly label: string
  readonly value: Json
}

/** One named part of an object. */
export interface Member {
  readonly name: string
  readonly required: boolean
  readonly field: Field
}

export interface Variant {
  readonly label: string
  readonly field: Field
}

/** What a form draws for one place. Parts are made when they are asked for: a schema can hold itself. */
export type Field = Common &
  (
    | { readonly kind: 'text'; readonly format: string | undefined; readonly isLong: boolean }
    | { readonly kind: 'number' }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly options: readonly Option[] }
    | { readonly kind: 'fixed'; readonly value: Json }
    | {
        readonly kind: 'object'
        readonly members: () => readonly Member[]
        /** Values of names that the schema does not list; undefined where there may be none. */
        readonly extra: (() => Field) | undefined
      }
    | {
        readonly kind: 'list'
        /** Fields of the first items, where each position has its own. */
        readonly lead: () => readonly Field[]
        /** Field of all other items; undefined where there may be none. */
        readonly item: (() => Field) | undefined
        /** Items are short texts or numbers. */
        readonly isTags: boolean
      }
    | { readonly kind: 'union'; readonly variants: () => readonly Variant[] }
    | { readonly kind: 'json'; readonly reason: string | undefined }
  )

export type FieldOf<Kind extends Field['kind']> = Extract<Field, { kind: Kind }>

/** Whether there is nothing to fill in. */
export const isEmptyObject = (root: Field): boolean =>
  root.kind === 'object' && root.members().length === 0 && root.extra === undefined

/** The option that a value is, or -1. */
export const optionOf = (options: readonly Option[], value: Json | undefined): number =>
  options.findIndex((option) => equalJson(option.value, value))

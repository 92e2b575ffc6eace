/** Result of one check of the identity provider, as in Diagnostics. */
export interface Finding {
  /** Stable, for example `oidc_keys`. */
  readonly id: string
  readonly status: 'pass' | 'warn' | 'fail'
  readonly title: string
  readonly detail?: string
  /** Suggested fix. */
  readonly hint?: string
  /** Time that the provider took. */
  readonly ms?: number
}

/** Members of a document of the provider; nothing about them is known. */
export type Document = Readonly<Record<string, unknown>>

const MAX_ENTRIES = 1_000

/** Returns the texts in an array of a document; undefined if it is no array. */
export const textsIn = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value)
    ? value.slice(0, MAX_ENTRIES).filter((each): each is string => typeof each === 'string')
    : undefined

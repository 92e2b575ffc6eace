const SUSPECT = /\\u[dD][89a-fA-F]/
/** Pairs and other escapes are taken whole, so that what is left of surrogates stands alone. */
const ESCAPES = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)/gs
const LONE = /^\\u[dD][89a-fA-F]..$/

/** Whether an escape of this JSON text may name a half of a surrogate pair. */
export const mayHoldSurrogates = (json: string): boolean => SUSPECT.test(json)

/**
 * JSON text with each escape of half a surrogate pair replaced by that of U+FFFD, which is as long. RFC 8259 allows the
 * halves, but many readers refuse the whole message over one. The text has been checked.
 */
export const withoutLoneSurrogates = (json: string): string =>
  mayHoldSurrogates(json) ? json.replace(ESCAPES, (escape) => (LONE.test(escape) ? '\\ufffd' : escape)) : json

const SUSPECT = /\\u[dD][89a-fA-F]/
/** Matches pairs and other escapes as a whole, so that a single surrogate is matched only if it is unpaired. */
const ESCAPES = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)/gs
const LONE = /^\\u[dD][89a-fA-F]..$/

/** Returns true if a JSON text may escape a surrogate, paired or not. */
const mayContainSurrogates = (json: string): boolean => SUSPECT.test(json)

/**
 * Replaces each escape of an unpaired surrogate in a valid JSON text by `\ufffd`, which is as long. RFC 8259 allows
 * unpaired surrogates, but many parsers reject the whole message because of one.
 */
export const withoutLoneSurrogates = (json: string): string =>
  mayContainSurrogates(json) ? json.replace(ESCAPES, (escape) => (LONE.test(escape) ? '\\ufffd' : escape)) : json

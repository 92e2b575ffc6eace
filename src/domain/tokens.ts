/** Texts that an `Authorization` header can carry as one token, long enough not to be guessed (security-model.md#tokens). */
const pattern = /^[\x21-\x7e]{16,1024}$/

/** Rule of access tokens in words, for the people who bring their own. */
export const TOKEN_RULE = 'must be 16 to 1024 visible ASCII characters without white space'

export const isToken = (text: string): boolean => pattern.test(text)

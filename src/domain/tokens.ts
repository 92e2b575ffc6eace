/** Texts that fit into an `Authorization` header as one token and are too long to guess (security-model.md#tokens) */
const pattern = /^[\x21-\x7e]{16,1024}$/

/** Rule of access tokens for error messages */
export const TOKEN_RULE = 'must be 16 to 1024 visible ASCII characters without white space'

export const isToken = (text: string): boolean => pattern.test(text)

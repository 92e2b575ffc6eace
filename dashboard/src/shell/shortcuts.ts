/** True on systems whose shortcuts use the Command key. */
const isApple = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '')

/** Name of the key that Ctrl+K and Ctrl+Enter need on this system. */
export const MODIFIER = isApple ? '⌘' : 'Ctrl'

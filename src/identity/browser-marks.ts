import { hash, randomBytes, randomInt } from 'node:crypto'

/** Cookies that a browser can have to be known by, when it opens several pages before it has any. */
const COOKIES = 16
const VALUE = /^[\w-]{43}$/

type Cookies = Readonly<Record<string, string | undefined>>

/** Cookies by which a browser is known, so that nobody answers for another. Hashes are SHA-256, base64url. */
export interface BrowserMarks {
  /** Returns the hashes of all marks among the cookies: pages that a browser opens at once get one each. */
  read(cookies: Cookies): readonly string[]
  /** Returns the hash of one; creates it with `set`, which sets a cookie, if there is none. */
  readOrCreate(cookies: Cookies, set: (name: string, value: string) => void): string
}

const hashOf = (value: string) => hash('sha256', value, 'base64url')

/** `prefix`: of the names of the cookies. */
export function createBrowserMarks(prefix: string): BrowserMarks {
  const read = (cookies: Cookies) =>
    Array.from({ length: COOKIES }, (_, i) => cookies[`${prefix}-${i}`] ?? '')
      .filter((value) => VALUE.test(value))
      .map(hashOf)
  return {
    read,
    readOrCreate(cookies, set) {
      const [known] = read(cookies)
      if (known !== undefined) return known
      const value = randomBytes(32).toString('base64url')
      set(`${prefix}-${randomInt(COOKIES)}`, value)
      return hashOf(value)
    }
  }
}

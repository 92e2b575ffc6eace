import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { networkOf } from '../domain/network/client-address.ts'
import { createQuota } from '../lib/quota.ts'
import { createSemaphore, type Semaphore } from '../lib/semaphore.ts'
import { unavailable } from '../lib/errors.ts'

const LOG_N = 15
const PARAMETERS: ScryptOptions = { N: 2 ** LOG_N, r: 8, p: 3, maxmem: 64 * 1_048_576 }
const PREFIX = `$scrypt$ln=${LOG_N},r=8,p=3$`
const SALT_BYTES = 16
const HASH_BYTES = 32
const MIN_CHARACTERS = 12
const MAX_CHARACTERS = 1_024
/** Each takes 32 MiB and a thread of the pool that also reads files and resolves names. */
const AT_A_TIME = 2
const MAX_WAIT_MS = 10_000
/** Passwords of one address or IPv6 /64 network: one is hashed, the others wait for it. */
const OF_NETWORK = 4

/**
 * Hashes passwords with scrypt, two at a time, and one of each network. Rejects with a 503 AppError after ten seconds of
 * waiting, or if a network sends more than four at a time. `address`: of the browser.
 */
export interface Passwords {
  /** Resolves with the salt and the hash in PHC string format. */
  hash(password: string, address: string): Promise<string>
  /** Takes equally long for `undefined`, for which no password is right. */
  verify(password: string, stored: string | undefined, address: string): Promise<boolean>
}

/** Returns why a text cannot be a password, as a sentence. */
export function passwordProblem(password: string, name: string): string | undefined {
  const { length } = Array.from(password.normalize('NFKC'))
  if (length < MIN_CHARACTERS) return `The password needs at least ${MIN_CHARACTERS} characters.`
  if (length > MAX_CHARACTERS) return `The password can have at most ${MAX_CHARACTERS} characters.`
  if (password.toLowerCase() === name.toLowerCase()) return 'The password must not be the name of the user.'
  return undefined
}

const derive = (password: string, salt: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, PARAMETERS, (error, key) =>
      error ? reject(error) : resolve(key)
    )
  })

const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
const parse = (stored: string): { salt: Buffer; key: Buffer } => {
  const [salt = '', key = ''] = stored.startsWith(PREFIX) ? stored.slice(PREFIX.length).split('$') : []
  return { salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') }
}

/** Creates the hashing of passwords. `maxWaitMs`: time to wait for a turn, ten seconds if absent. */
export function createPasswords(maxWaitMs = MAX_WAIT_MS): Passwords {
  const all = createSemaphore(AT_A_TIME)
  const shares = createQuota(OF_NETWORK)
  const networks = new Map<string, Semaphore>()
  const error = () => unavailable('Too many people are signing in at the moment. Try again.', 10)
  const limit = { ms: maxWaitMs, error }
  const deriveInTurn = async (own: Semaphore, password: string, salt: Buffer): Promise<Buffer> => {
    const releases = [await own.acquire(limit)]
    try {
      releases.push(await all.acquire(limit))
      return await derive(password, salt)
    } finally {
      for (const release of releases) release()
    }
  }
  const inTurn = async (password: string, salt: Buffer, address: string): Promise<Buffer> => {
    const network = networkOf(address)
    if (!shares.acquire(network)) throw error()
    const own = networks.get(network) ?? createSemaphore(1)
    networks.set(network, own)
    try {
      return await deriveInTurn(own, password, salt)
    } finally {
      shares.release(network)
      if (shares.heldBy(network) === 0) networks.delete(network)
    }
  }
  return {
    async hash(password, address) {
      const salt = randomBytes(SALT_BYTES)
      const key = await inTurn(password, salt, address)
      return `${PREFIX}${encode(salt)}$${encode(key)}`
    },
    async verify(password, stored, address) {
      const { salt, key } = stored === undefined ? { salt: randomBytes(SALT_BYTES), key: undefined } : parse(stored)
      const derived = await inTurn(password, salt, address)
      return key !== undefined && key.length === HASH_BYTES && timingSafeEqual(derived, key)
    }
  }
}

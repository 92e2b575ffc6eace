import { mkdir, readFile, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../../domain/is-object.ts'
import { PRODUCT } from '../../domain/product.ts'
import { writePrivateFile } from './config-file.ts'
import { EXIT, Failure } from './failure.ts'

/** A person's sign-in at a gateway. */
export interface SignIn {
  readonly access_token: string
  /** ISO 8601. */
  readonly expires_at: string
  /** Absent if the gateway issued none: the sign-in then ends with the access token. */
  readonly refresh_token?: string
}

/** Content of the account file: sign-ins by the URL of the gateway. */
type SignInsByRegistry = Readonly<Record<string, SignIn>>

const LOCK_WAIT_MS = 40_000
const LOCK_POLL_MS = 50
/** Age at which a lock belongs to a process that was killed; longer than a token request may take. */
const STALE_LOCK_MS = 35_000

/** Path of the file with the sign-ins of the command line, readable by its owner only. */
export const accountPath = (home: string): string => join(home, `.${PRODUCT}.account.json`)

const isSignIn = (value: unknown): value is SignIn =>
  isObject(value) &&
  typeof value.access_token === 'string' &&
  typeof value.expires_at === 'string' &&
  (value.refresh_token === undefined || typeof value.refresh_token === 'string')

async function readAll(path: string): Promise<SignInsByRegistry> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new Failure(EXIT.usage, `cannot read ${path}`, { cause })
  }
  try {
    const content: unknown = JSON.parse(text)
    if (isObject(content)) return Object.fromEntries(Object.entries(content).filter(isEntry))
  } catch {
    // reported below, without the text: it may contain tokens
  }
  throw new Failure(EXIT.usage, `${path} is not valid JSON`, { hint: `remove it and run \`${PRODUCT} login\` again` })
}

const isEntry = (entry: [string, unknown]): entry is [string, SignIn] => isSignIn(entry[1])

/** Reads the sign-in at a gateway; undefined if there is none. */
export async function readSignIn(home: string, registry: string): Promise<SignIn | undefined> {
  const all = await readAll(accountPath(home))
  return Object.hasOwn(all, registry) ? all[registry] : undefined
}

/**
 * Replaces the sign-in at a gateway by the result of `change`, which gets the current one; undefined removes it. Other
 * processes of the same user wait meanwhile, so that each refresh token is used once.
 */
export async function changeSignIn(
  home: string,
  registry: string,
  change: (current: SignIn | undefined) => Promise<SignIn | undefined>
): Promise<SignIn | undefined> {
  const path = accountPath(home)
  return withLock(`${path}.lock`, async () => {
    const { [registry]: current, ...others } = await readAll(path)
    const next = await change(current)
    if (next !== current) {
      const all = next === undefined ? others : { ...others, [registry]: next }
      await writePrivateFile(path, `${JSON.stringify(all, null, 2)}\n`)
    }
    return next
  })
}

/** Runs `work` while no other process does under the same lock, which is a folder: creating one is atomic everywhere. */
async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await acquire(path)
  try {
    return await work()
  } finally {
    await rmdir(path).catch(() => {})
  }
}

async function acquire(path: string): Promise<void> {
  for (const end = performance.now() + LOCK_WAIT_MS; ; await delay(LOCK_POLL_MS)) {
    try {
      await mkdir(path, { mode: 0o700 })
      return
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
        throw new Failure(EXIT.failed, `cannot write ${path}`, { cause })
      if (performance.now() > end)
        throw new Failure(EXIT.failed, `another process holds ${path}`, { hint: 'remove it if none is running', cause })
    }
    const made = await stat(path).catch(() => undefined)
    if (made && Date.now() - made.mtimeMs > STALE_LOCK_MS) await rmdir(path).catch(() => {})
  }
}

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { credentialOf, type Caller } from '../../catalog/caller.ts'

/** A task of a server, as a handle describes it. */
export interface Task {
  /** Permanent id of the server. */
  readonly serverId: string
  /** The server's own name of the tool that started the task. */
  readonly tool: string
  /** The server's own id of the task. */
  readonly taskId: string
  /** Time at which the gateway issued the handle, in milliseconds since 1970. */
  readonly createdAt: number
}

/** Caller and endpoint that a handle is valid for. */
export interface HandleOwner {
  readonly caller: Pick<Caller, 'key' | 'tokenHash' | 'signIn'>
  readonly endpoint: string
}

/** Task ids for clients: they hold the way to the server's task, sealed, so that nothing is stored (mcp-proxy.md#tasks). */
export interface TaskHandles {
  /** Returns the handle of a new task. */
  seal(owner: HandleOwner, task: Omit<Task, 'createdAt'>): string
  /** Opens a handle; undefined if it is malformed, expired, or of another owner or gateway. */
  open(owner: HandleOwner, handle: string): Task | undefined
}

const VERSION = 't1.'
const DAY_MS = 86_400_000
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Length of the nonce in a handle; the nonce is a multiple of three bytes, so the next character starts anew. */
const NONCE_CHARACTERS = (NONCE_BYTES / 3) * 4

/** Returns the part of a valid handle that no other handle shares. */
export const handleKey = (handle: string) => handle.slice(VERSION.length, VERSION.length + NONCE_CHARACTERS)

/**
 * Returns the data that a handle is bound to. A new static token ends a client's handles, like its sessions: whoever
 * held the old token must not find its tasks again. A refreshed token of an OAuth client belongs to the same grant.
 */
const boundTo = ({ caller, endpoint }: HandleOwner): Buffer =>
  Buffer.from(JSON.stringify([endpoint, caller.key, Buffer.from(credentialOf(caller) ?? []).toString('hex')]))

/** Opened handles, which need not be decrypted again: clients poll. All are forgotten when there are this many. */
const MAX_OPENED = 1_000

interface OpenedTask extends HandleOwner {
  readonly task: Task
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined) =>
  a === b || (a !== undefined && b !== undefined && Buffer.compare(a, b) === 0)

const isOwner = (opened: HandleOwner, { caller, endpoint }: HandleOwner): boolean =>
  opened.endpoint === endpoint &&
  opened.caller.key === caller.key &&
  isSame(credentialOf(opened.caller), credentialOf(caller))

type Fields = readonly [serverId: string, tool: string, taskId: string, createdAt: number]

/** Creates handles with this key, which are valid for a number of days. */
export function createTaskHandles(sealingKey: Buffer, days: number): TaskHandles {
  const decrypt = (owner: HandleOwner, bytes: Buffer): string => {
    const end = bytes.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, sealingKey, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(boundTo(owner)).setAuthTag(bytes.subarray(end))
    return decipher.update(bytes.subarray(NONCE_BYTES, end)).toString() + decipher.final().toString()
  }
  const opened = new Map<string, OpenedTask>()
  /** Returns the task of a handle, expired or not. */
  const read = (owner: HandleOwner, handle: string): Task | undefined => {
    const known = opened.get(handle)
    if (known) return isOwner(known, owner) ? known.task : undefined
    const bytes = handle.startsWith(VERSION) ? Buffer.from(handle.slice(VERSION.length), 'base64url') : undefined
    if (!bytes || bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
    // two texts of one handle would count as two tasks
    if (bytes.toString('base64url') !== handle.slice(VERSION.length)) return undefined
    try {
      const [serverId, tool, taskId, createdAt] = JSON.parse(decrypt(owner, bytes)) as Fields
      const task = { serverId, tool, taskId, createdAt }
      const { key, tokenHash, signIn } = owner.caller
      if (opened.size === MAX_OPENED) opened.clear()
      opened.set(handle, { caller: { key, tokenHash, signIn }, endpoint: owner.endpoint, task })
      return task
    } catch {
      return undefined
    }
  }
  return {
    seal(owner, { serverId, tool, taskId }) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, sealingKey, nonce, { authTagLength: TAG_BYTES }).setAAD(boundTo(owner))
      const fields: Fields = [serverId, tool, taskId, Date.now()]
      const text = Buffer.concat([cipher.update(JSON.stringify(fields)), cipher.final()])
      return VERSION + Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url')
    },
    open(owner, handle) {
      const task = read(owner, handle)
      return task && Date.now() - task.createdAt <= days * DAY_MS ? task : undefined
    }
  }
}

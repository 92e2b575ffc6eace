import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  chmodSync,
  realpathSync,
  type Dirent
} from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'

/** Permission bits of group and others */
const GROUP_AND_OTHERS = 0o077
/** Permission bits of a folder in which all users may make files, such as /tmp */
const SHARED = 0o1002
/** Entries of a data directory that the gateway creates, with their temporary files; others are left alone. */
const ownEntries = { all: /^(postgres|encryption\.key|lock)(\.|$)/, key: /^encryption\.key(\.|$)/ } as const

/**
 * Part of a data directory that is about to be used. A store has a thousand files: they are checked when it is opened,
 * and not again for the key.
 */
export type DataPart = keyof typeof ownEntries

/**
 * Removes the permissions of group and others from a data directory and from one part of it, as PostgreSQL requires for
 * its own. Throws StartupError for files of another user, for symbolic links, for a folder that all users share, and if
 * the file system ignores permissions.
 */
export function restrictPermissions(dataDir: string, part: DataPart): void {
  const user = process.getuid?.()
  // Windows has no such permissions.
  if (user === undefined) return
  const refuse = (path: string, reason: string) =>
    new StartupError(`the data directory ${dataDir} cannot be used: ${path} ${reason}`)
  const folder = realpathSync(dataDir)
  // closing /tmp would break other programs
  if ((lstatSync(folder).mode & SHARED) === SHARED)
    throw refuse(folder, 'is shared by all users: use a new folder inside it')
  restrictFolder(folder, user, refuse)
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (ownEntries[part].test(entry.name)) restrictEntry(folder, entry, user, refuse)
}

type Refuse = (path: string, reason: string) => StartupError

/**
 * Restricts a folder before its contents: once it is private, no other user can replace an entry by another file or
 * link.
 */
function restrictEntry(folder: string, entry: Dirent, user: number, refuse: Refuse): void {
  const path = join(folder, entry.name)
  if (entry.isSymbolicLink()) throw refuse(path, 'is a symbolic link: replace it with its target')
  if (entry.isDirectory()) {
    restrictFolder(path, user, refuse)
    for (const inner of readdirSync(path, { withFileTypes: true })) restrictEntry(path, inner, user, refuse)
    return
  }
  const { mode, uid } = lstatSync(path)
  requireOwner(path, uid, user, refuse)
  if ((mode & GROUP_AND_OTHERS) === 0) return
  chmodSync(path, mode & 0o700)
  requirePrivate(path, lstatSync(path).mode, refuse)
}

function restrictFolder(path: string, user: number, refuse: Refuse): void {
  const handle = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    const { mode, uid } = fstatSync(handle)
    requireOwner(path, uid, user, refuse)
    if ((mode & GROUP_AND_OTHERS) === 0) return
    fchmodSync(handle, 0o700)
    requirePrivate(path, fstatSync(handle).mode, refuse)
  } finally {
    closeSync(handle)
  }
}

function requireOwner(path: string, uid: number, user: number, refuse: Refuse): void {
  if (uid === user) return
  const how = 'give it to that user (chown), or use a new folder inside it'
  throw refuse(path, `belongs to user ${uid} and the gateway runs as user ${user}: ${how}`)
}

/** Checks the result, because some file systems (FAT, network shares) accept a change of permissions and ignore it. */
function requirePrivate(path: string, mode: number, refuse: Refuse): void {
  if ((mode & GROUP_AND_OTHERS) === 0) return
  throw refuse(path, 'remains readable by other users: its file system does not support permissions')
}

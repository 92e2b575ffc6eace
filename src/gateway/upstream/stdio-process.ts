import { spawn } from 'node:child_process'
import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import { createRedactor } from '../../domain/redaction.ts'
import { maskArguments, secretsOfArguments } from '../../domain/secret-parts.ts'
import { truncate } from '../../domain/text.ts'
import { UpstreamFailure } from './failure.ts'
import { MemoryReservation, type MemoryQuota, TOO_MUCH_MEMORY, unlimitedMemory } from './pending.ts'
import { type ServerReads, unsharedReads } from './reading-turns.ts'
import type { ConnectRequester } from './stages.ts'
import { MARK, type Children, type Tree } from './stdio-children.ts'
import {
  asIdentity,
  childEnvironment,
  createFolder,
  findExecutable,
  notStarted,
  removeFolder
} from './stdio-command.ts'
import { createLineReader } from './stdio-lines.ts'
import { createStderrReader, createStderrTail, printable } from './stdio-tail.ts'
import type { StderrTail } from './stdio-tail.ts'

/** What of a logger is used here. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface ProcessSettings {
  /** Name of the registered server, for logs. */
  readonly server: string
  readonly command: string
  readonly args: readonly string[]
  /** Declared for the child. Its values are taken out of everything that is logged or told. */
  readonly env: Readonly<Record<string, string>>
  /** The gateway's own environment, of which a child gets seven names and `LC_*`. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
  /** On whose behalf it is started; undefined: the gateway's own. */
  readonly by?: ConnectRequester | undefined
  /** undefined: a fresh empty folder, removed at the end. */
  readonly cwd: string | undefined
  readonly uid: number | undefined
  readonly gid: number | undefined
  readonly limits: { readonly maxLineBytes: number }
  /** What the server's answers and questions hold. Default: not counted. */
  readonly memory?: MemoryQuota
  /** Shares the event loop with other servers. Default: with none. */
  readonly reads?: ServerReads | undefined
  readonly log: Log
  /** stderr of all processes of this server. */
  readonly tail: StderrTail
  readonly children: Children
}

export interface ProcessEvents {
  /** One line of stdout. False: it is noise. */
  readonly onLine: (line: Buffer) => boolean
  /** It can carry nothing more. Called once, not after `close`. */
  readonly onEnd: (failure: UpstreamFailure) => void
}

export interface StdioProcess {
  readonly pid: number
  /** Its exit has been seen; the last of its output may still come. */
  readonly hasExited: boolean
  /** Writes one line. `refuse` is called where it was not taken: at once where too much lies unread, or once that is seen. */
  write(text: string, refuse: (failure: UpstreamFailure) => void): void
  /** The last that it wrote to stderr, without secrets. */
  stderr(): string
  /** Returns at once; the tree is ended in the background. Idempotent. */
  close(): void
  /** Resolves when nothing of its process tree is left. Never rejects. */
  readonly ended: Promise<void>
}

/** Bytes that may wait for a child that does not read; a single longer message still passes. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024
/** Time for the last output after the exit; a grandchild may hold the pipes open for ever. */
const LAST_OUTPUT_MS = 200
const JUNK_PER_MINUTE = 20
const LOGGED_ARGUMENTS = 20
/** Characters of each argument in the log. */
const LOGGED_LENGTH = 200

const notTaken = () =>
  new UpstreamFailure('crashed', 'the process does not take its input any more', { maybeProcessed: false })

/** Counts per child and minute, so that a chatty server fills no disk (security-model.md#http-hardening). */
function createJunkLog({ server, log }: ProcessSettings, redact: (text: string) => string) {
  let minute = -1
  let count = 0
  return (line: Buffer) => {
    const now = Math.floor(performance.now() / 60_000)
    count = now === minute ? count + 1 : 1
    minute = now
    if (count > JUNK_PER_MINUTE) return
    log.warn({ server, line: printable(redact(line.toString('utf8', 0, 4_000)), 500) }, 'no JSON-RPC message on stdout')
  }
}

/** What a child creates is for its user alone. The mask is inherited, and nothing of ours runs before it is put back. */
function withUmask<T>(start: () => T): T {
  const before = process.umask(0o077)
  try {
    return start()
  } finally {
    process.umask(before)
  }
}

/** Arguments for the log: without values that are secrets by their flag or in the environment, and cut. */
function shownArguments({ args, env }: ProcessSettings): string[] {
  const redact = createRedactor(Object.values(env))
  const shown = maskArguments(args.slice(0, LOGGED_ARGUMENTS))
  return shown.map((arg) => truncate(redact(arg), LOGGED_LENGTH))
}

/** Every start is logged, with its actor and request: a process that is gone has left no other trace. */
function logLife(child: ChildProcess, settings: ProcessSettings): void {
  const { server, command, log, by } = settings
  const about = { server, command: basename(command), pid: child.pid }
  const start = performance.now()
  const actor = { actor: by?.caller.key ?? PRODUCT, ...(by?.requestId ? { request_id: by.requestId } : {}) }
  log.info({ ...about, args: shownArguments(settings), ...actor }, 'process started')
  child.once('exit', (code, signal) => {
    const ms = Math.round(performance.now() - start)
    log.debug({ ...about, ...(signal === null ? { code } : { signal }), ms }, 'process ended')
  })
}

async function spawnChild(settings: ProcessSettings, cwd: string) {
  const env = childEnvironment(settings.gatewayEnv, settings.env)
  const isFolder = await stat(cwd)
    .then((entry) => entry.isDirectory())
    .catch(() => false)
  if (!isFolder) throw notStarted('the working folder does not exist')
  const found = await findExecutable(settings.command, env.PATH ?? '', cwd)
  const { file, args, ...identity } = await asIdentity(found, settings.args, settings)
  const mark = settings.children.prepare()
  const marked = { ...env, [MARK]: mark }
  const start = () => spawn(file, args, { ...identity, cwd, env: marked, shell: false, detached: true, stdio: 'pipe' })
  const child = withUmask(start)
  if (child.pid !== undefined) return { child, mark }
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => child.once('error', resolve))
  throw error
}

const startError = (command: string, error: unknown): UpstreamFailure => {
  if (error instanceof UpstreamFailure) return error
  const code = (error as NodeJS.ErrnoException).code
  return notStarted(`command "${command}" could not be started${code ? ` (${code})` : ''}`, error)
}

/** Starts the server's command. Rejects with UpstreamFailure `unreachable` naming the cause. */
export async function startProcess(settings: ProcessSettings, events: ProcessEvents): Promise<StdioProcess> {
  const folder = settings.cwd === undefined ? await createFolder(settings) : undefined
  const cleanUp = async () => {
    if (folder !== undefined) await removeFolder(folder, settings)
  }
  try {
    const { child, mark } = await spawnChild(settings, folder ?? settings.cwd!)
    const tree = settings.children.adopt(child, mark, settings.uid, cleanUp)
    return watch(child, settings, events, tree)
  } catch (error) {
    await cleanUp()
    throw startError(settings.command, error)
  }
}

function watch(
  child: ChildProcessWithoutNullStreams,
  settings: ProcessSettings,
  { onLine, onEnd }: ProcessEvents,
  tree: Tree
): StdioProcess {
  logLife(child, settings)
  const redact = createRedactor([...Object.values(settings.env), ...secretsOfArguments(settings.args)])
  const junk = createJunkLog(settings, redact)
  // its own, besides the server's: another caller's process must not show in this one's failure
  const ownTail = createStderrTail(4_096)
  const stderr = createStderrReader(redact, [ownTail, settings.tail])
  let isOver = false

  const holding = new MemoryReservation(settings.memory ?? unlimitedMemory)
  const source = (settings.reads ?? unsharedReads).open(() => child.stdout.resume())
  const over = () => {
    isOver = true
    source.close()
    holding.release()
  }
  const finish = (failure: UpstreamFailure, isPatient = true) => {
    if (isOver) return
    over()
    onEnd(failure)
    tree.end(isPatient)
  }

  const cause = () => {
    stderr.flush()
    const { exitCode, signalCode } = child
    const last = printable(ownTail.lines().at(-1) ?? '', 200)
    const what =
      signalCode !== null
        ? `the process was ended by signal ${signalCode}`
        : exitCode !== null
          ? `the process exited with code ${exitCode}`
          : 'the process closed its pipes'
    return new UpstreamFailure('crashed', last === '' ? what : `${what}: ${last}`)
  }
  const crash = () => finish(cause())
  const crashSoon = () => void setTimeout(crash, LAST_OUTPUT_MS)

  const tooLong = () => {
    const message = `sent a line of more than ${settings.limits.maxLineBytes} bytes`
    finish(new UpstreamFailure('too_large', message), false)
  }
  const lines = createLineReader({
    maxBytes: settings.limits.maxLineBytes,
    onTooLong: tooLong,
    onLine: (line) => {
      if (!isOver && !onLine(line)) junk(line)
    }
  })
  const readChunk = (chunk: Buffer) => {
    try {
      lines.push(chunk)
    } catch (error) {
      // thrown out of an event handler, a fault in reading one server would end the gateway
      return finish(new UpstreamFailure('bad_response', 'sent something that cannot be read', { cause: error }), false)
    }
    if (!isOver && !holding.resize(lines.held)) finish(new UpstreamFailure('too_large', TOO_MUCH_MEMORY), false)
  }
  child.stdout.on('data', (chunk: Buffer) => {
    if (isOver) return
    source.read(() => readChunk(chunk))
    if (source.mustWait) child.stdout.pause()
  })
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
  child.once('close', crash)
  child.once('exit', crashSoon)
  child.stdout.once('end', crashSoon)
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', crashSoon)

  return {
    pid: child.pid!,
    get hasExited() {
      return child.exitCode !== null || child.signalCode !== null
    },
    write(text, refuse) {
      if (child.stdin.writableLength > MAX_UNREAD_BYTES) {
        refuse(new UpstreamFailure('overloaded', 'the process does not read its input', { maybeProcessed: false }))
      } else if (child.stdin.writable) {
        // a line without its end is none
        child.stdin.write(`${text}\n`, (error) => {
          if (error) refuse(notTaken())
        })
      } else {
        refuse(notTaken())
      }
    },
    stderr() {
      stderr.flush()
      return ownTail.text()
    },
    close() {
      if (isOver) return
      over()
      tree.end(true)
    },
    ended: tree.ended
  }
}

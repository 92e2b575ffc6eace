import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import { createRedactor, maskSecretText } from '../../domain/secrets/redaction.ts'
import { maskArguments, secretsOfArguments } from '../../domain/secrets/secret-parts.ts'
import { truncate } from '../../domain/text/text.ts'
import { type BufferList, concatBuffers, sliceBuffers } from '../../json/buffer-list.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { MemoryReservation, type MemoryQuota, TOO_MUCH_MEMORY, unlimitedMemory } from '../transport/memory-quota.ts'
import { type ServerReads, createReadScheduler } from '../transport/read-scheduler.ts'
import type { ConnectRequester } from '../../observe/connect-timings.ts'
import type { ChildRegistry, ProcessTree } from './child-registry.ts'
import { withIdentity, childEnvironment, createFolder, findExecutable, startFailure, removeFolder } from './command.ts'
import type { ServerProcess } from './launcher.ts'
import { createLineReader } from '../../protocol/lines.ts'
import { createStderrReader, createStderrTail, printable } from './stderr.ts'
import type { StderrTail } from './stderr.ts'

/** The methods used of a logger. */
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
  /** Environment declared for the child. Its values are redacted in logs and failures. */
  readonly env: Readonly<Record<string, string>>
  /** The gateway's own environment, of which a child inherits seven variables and `LC_*`. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
  /** Caller that the process is started for; undefined: the gateway itself. */
  readonly requester?: ConnectRequester | undefined
  /** Working folder; undefined: a new empty folder, removed at the end. */
  readonly cwd: string | undefined
  readonly uid: number | undefined
  readonly gid: number | undefined
  readonly limits: { readonly maxLineBytes: number }
  /** Quota for the memory of the server's answers and requests. Default: unlimited. */
  readonly memory?: MemoryQuota
  /** Divides event-loop time among servers. Default: alone. */
  readonly reads?: ServerReads | undefined
  readonly log: Log
  /** Last stderr output of all processes of this server. */
  readonly tail: StderrTail
  readonly children: ChildRegistry
}

export interface ProcessEvents {
  /** Reads one line of stdout, in steps. Returns false if the line is not a message. */
  readonly onLine: (line: BufferList) => Generator<void, boolean>
  /** Called once when the process can carry no more messages, but not after `close`. */
  readonly onEnd: (failure: UpstreamFailure) => void
}

export interface StdioProcess {
  readonly pid: number
  /** True once the process has exited; its last output may still arrive. */
  readonly hasExited: boolean
  /**
   * Writes one line. `refuse`, if somebody waits, is called if the line was not delivered: at once if too much input is
   * unread, or as soon as the write fails.
   */
  write(text: string, refuse?: (failure: UpstreamFailure) => void): void
  /** Returns the last output on stderr, secrets redacted. */
  stderr(): string
  /** Returns at once; the process tree is ended in the background. Idempotent. */
  close(): void
  /** Resolves when no process of the tree is left. Never rejects. */
  readonly ended: Promise<void>
}

/** Limit of unread input; a single larger message is still written. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024
/** Time for the last output after the exit; a grandchild may keep the pipes open indefinitely. */
const LAST_OUTPUT_MS = 200
const NOISE_PER_MINUTE = 20
const LOGGED_ARGUMENTS = 20
/** Limit of each argument in the log, in characters. */
const LOGGED_LENGTH = 200

const inputClosed = () =>
  new UpstreamFailure('crashed', 'the process no longer reads its input', { maybeProcessed: false })

/**
 * Logs lines that are not messages, a limited number per child and minute, so that no server fills the disk
 * (security-model.md#http-hardening).
 */
function createNoiseLog({ server, log }: ProcessSettings, redact: (text: string) => string) {
  let minute = -1
  let count = 0
  return (line: BufferList) => {
    const now = Math.floor(performance.now() / 60_000)
    count = now === minute ? count + 1 : 1
    minute = now
    if (count > NOISE_PER_MINUTE) return
    const start = concatBuffers(sliceBuffers(line, 0, 4_000)).toString()
    log.warn({ server, line: printable(redact(start), 500) }, 'no JSON-RPC message on stdout')
  }
}

/** Returns the arguments for the log, without secrets and truncated. */
function shownArguments({ args, env }: ProcessSettings): string[] {
  const redact = createRedactor(Object.values(env))
  const shown = maskArguments(args.slice(0, LOGGED_ARGUMENTS))
  return shown.map((arg) => truncate(redact(arg), LOGGED_LENGTH))
}

/** Logs start and end of a process with caller and request: an ended process leaves no other trace. */
function logLifetime(child: ServerProcess, settings: ProcessSettings): void {
  const { server, command, log, requester } = settings
  const about = { server, command: basename(command), pid: child.pid }
  const start = performance.now()
  const actor = {
    actor: requester?.caller.key ?? PRODUCT,
    ...(requester?.requestId ? { request_id: requester.requestId } : {})
  }
  log.info({ ...about, args: shownArguments(settings), ...actor }, 'process started')
  child.once('exit', () => {
    const { exitCode: code, signalCode: signal } = child
    const ms = Math.round(performance.now() - start)
    log.debug({ ...about, ...(signal === null ? { code } : { signal }), ms }, 'process ended')
  })
}

async function startChild(settings: ProcessSettings, cwd: string, cleanUp: () => Promise<void>) {
  const env = childEnvironment(settings.gatewayEnv, settings.env)
  const isFolder = await stat(cwd)
    .then((entry) => entry.isDirectory())
    .catch(() => false)
  if (!isFolder) throw startFailure('the working folder does not exist')
  const found = await findExecutable(settings.command, env.PATH ?? '', cwd)
  const { file, args, ...identity } = await withIdentity(found, settings.args, settings)
  return settings.children.start({ file, args, ...identity, env, cwd }, settings.uid, cleanUp)
}

const startError = (command: string, error: unknown): UpstreamFailure => {
  if (error instanceof UpstreamFailure) return error
  const code = (error as NodeJS.ErrnoException).code
  return startFailure(`command "${command}" could not be started${code ? ` (${code})` : ''}`, error)
}

/** Starts the server's command. Rejects with UpstreamFailure `unreachable` and its cause. */
export async function startProcess(settings: ProcessSettings, events: ProcessEvents): Promise<StdioProcess> {
  const folder = settings.cwd === undefined ? await createFolder(settings) : undefined
  const cleanUp = async () => {
    if (folder !== undefined) await removeFolder(folder, settings)
  }
  try {
    const { child, tree } = await startChild(settings, folder ?? settings.cwd!, cleanUp)
    return superviseChild(child, settings, events, tree)
  } catch (error) {
    await cleanUp()
    throw startError(settings.command, error)
  }
}

function superviseChild(
  child: ServerProcess,
  settings: ProcessSettings,
  { onLine, onEnd }: ProcessEvents,
  tree: ProcessTree
): StdioProcess {
  logLifetime(child, settings)
  const redactKnown = createRedactor([...Object.values(settings.env), ...secretsOfArguments(settings.args)])
  const redact = (text: string) => maskSecretText(redactKnown(text))
  const logNoise = createNoiseLog(settings, redact)
  // separate from the server's tail: another caller's process must not show up in this one's failure
  const ownTail = createStderrTail(4_096)
  const reader = createStderrReader(redact, [ownTail, settings.tail])
  let isEnded = false

  const reservation = new MemoryReservation(settings.memory ?? unlimitedMemory)
  const reads = settings.reads ?? createReadScheduler().server()
  const release = () => {
    isEnded = true
    source.close()
    reservation.release()
  }
  const finish = (failure: UpstreamFailure, isPatient = true) => {
    if (isEnded) return
    release()
    onEnd(failure)
    tree.end(isPatient)
  }

  const crashFailure = () => {
    reader.flush()
    const { exitCode, signalCode } = child
    const message =
      signalCode !== null
        ? `the process was ended by signal ${signalCode}`
        : exitCode !== null
          ? `the process exited with code ${exitCode}`
          : 'the process closed its pipes'
    return new UpstreamFailure('crashed', message, {
      program: { command: basename(settings.command), stderr: ownTail.lines() },
      ...(exitCode === 0 ? { code: 'exit_0' } : {})
    })
  }
  /** After what the process wrote before. */
  const crash = () => reads.schedule(() => finish(crashFailure()))
  const crashSoon = () => void setTimeout(crash, LAST_OUTPUT_MS)

  const tooLong = () => {
    const message = `sent a line of more than ${settings.limits.maxLineBytes} bytes`
    finish(new UpstreamFailure('too_large', message), false)
  }
  const lines = createLineReader({
    maxBytes: settings.limits.maxLineBytes,
    onTooLong: tooLong,
    onLine: (line, bytes) => reads.readInSteps(bytes, () => lineSteps(line))
  })
  function* lineSteps(line: BufferList): Generator<void, void> {
    if (isEnded) return
    try {
      if (!(yield* onLine(line))) logNoise(line)
    } catch (error) {
      // an exception in an event handler would end the gateway
      finish(new UpstreamFailure('bad_response', 'sent something that cannot be read', { cause: error }), false)
    }
  }
  const readChunk = (chunk: Buffer) => {
    if (isEnded) return
    lines.push(chunk)
    if (!isEnded && !reservation.resize(lines.bufferedBytes))
      finish(new UpstreamFailure('too_large', TOO_MUCH_MEMORY), false)
  }
  const source = reads.open(readChunk, () => child.stdout.resume())
  child.stdout.on('data', (chunk: Buffer) => {
    if (!isEnded && !source.add(chunk)) child.stdout.pause()
  })
  child.stderr.on('data', (chunk: Buffer) => reader.push(chunk))
  child.once('close', crash)
  child.once('exit', crashSoon)
  child.stdout.once('end', crashSoon)
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', crashSoon)

  /** Sends the messages of this event-loop turn together: a system call for each takes a tenth of a call's CPU time. */
  const writeTogether = () => {
    if (child.stdin.writableCorked > 0) return
    child.stdin.cork()
    setImmediate(() => child.stdin.uncork())
  }

  return {
    pid: child.pid,
    get hasExited() {
      return child.exitCode !== null || child.signalCode !== null
    },
    write(text, refuse) {
      if (child.stdin.writableLength > MAX_UNREAD_BYTES) {
        refuse?.(new UpstreamFailure('overloaded', 'the process does not read its input', { maybeProcessed: false }))
      } else if (child.stdin.writable) {
        writeTogether()
        // the newline completes the message
        child.stdin.write(`${text}\n`, (error) => {
          if (error) refuse?.(inputClosed())
        })
      } else {
        refuse?.(inputClosed())
      }
    },
    stderr() {
      reader.flush()
      return ownTail.text()
    },
    close() {
      if (isEnded) return
      release()
      tree.end(true)
    },
    ended: tree.ended
  }
}

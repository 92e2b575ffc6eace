import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PRODUCT } from '../../domain/product.ts'
import { noop } from '../../lib/noop.ts'
import { makeFolder } from './command.ts'

/** A program to start, in a session of its own. */
export interface LaunchOptions {
  /** Absolute path */
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly uid?: number
  readonly gid?: number
}

/** A process that the launcher has started. Emits `exit` once, and `close` when its streams have ended as well. */
export interface ServerProcess extends EventEmitter<{ exit: []; close: [] }> {
  readonly pid: number
  readonly stdin: Socket
  readonly stdout: Socket
  readonly stderr: Socket
  /** Null while it runs, and if a signal ended it */
  readonly exitCode: number | null
  readonly signalCode: NodeJS.Signals | null
}

/**
 * Starts processes from a small process of its own. To start one, Node copies the page tables of its process, and holds
 * the event loop until the new program runs: with the gateway's memory 6 ms, and a second on a busy machine.
 */
export interface Launcher {
  /** Rejects with the system's error, such as ENOENT, or if the launcher ends meanwhile. */
  start(options: LaunchOptions): Promise<ServerProcess>
  /** Ends the launcher. Its processes live on, but their end is no longer seen. */
  close(): void
}

/** End of a process, of which one member is not null. */
type End = Partial<Pick<ServerProcess, 'exitCode' | 'signalCode'>>

/** Message of the launcher's program about one process: its start, its failure, or its end. */
interface Report extends End {
  readonly id: string
  readonly pid?: number
  readonly error?: { readonly code?: string; readonly message: string }
}

/** Begins each connection: 32 characters of the id, and the number of the file descriptor. */
const HEADER_BYTES = 33
/** Time without processes before the launcher ends. */
const IDLE_MS = 60_000
/** Time for one start; the launcher only waits for the system. */
const START_MS = 30_000

/** Kills a process that nobody supervises; its pid is that of its group. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // the group has already ended
  }
}

const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './launcher-program.mjs' : './stdio/launcher-program.js', import.meta.url)
)
/** Bounds of a heap that holds little: the defaults would let it grow before it is collected. */
const programFlags = ['--max-old-space-size=64', '--max-semi-space-size=1']

class StartedProcess extends EventEmitter<{ exit: []; close: [] }> implements ServerProcess {
  readonly pid: number
  readonly stdin: Socket
  readonly stdout: Socket
  readonly stderr: Socket
  exitCode: number | null = null
  signalCode: NodeJS.Signals | null = null
  #open = 4

  constructor(pid: number, [stdin, stdout, stderr]: readonly [Socket, Socket, Socket]) {
    super()
    this.pid = pid
    this.stdin = stdin
    this.stdout = stdout
    this.stderr = stderr
    for (const stream of [stdin, stdout, stderr]) {
      if (stream.destroyed) this.#countClosed()
      else stream.once('close', () => this.#countClosed())
    }
  }

  end(exitCode: number | null, signalCode: NodeJS.Signals | null): void {
    if (this.exitCode !== null || this.signalCode !== null) return
    this.exitCode = exitCode
    this.signalCode = signalCode
    this.stdin.destroy()
    this.emit('exit')
    this.#countClosed()
  }

  #countClosed() {
    if (--this.#open === 0) this.emit('close')
  }
}

/** The end can be read together with the start, before anybody listens. */
const endLater = (child: StartedProcess, { exitCode = null, signalCode = null }: End) =>
  void setImmediate(() => child.end(exitCode, signalCode))

const socketIn = (folder: string) => join(folder, 'launcher')

/** Bytes of the path of a socket: one less than macOS takes, four less than Linux. */
const MAX_SOCKET_PATH = 103

/** Returns where the folder of the socket is made: `/tmp` if the path would be too long in the temporary folder. */
function socketParent(): string {
  const parent = tmpdir()
  // as long as the random part that mkdtemp appends
  const path = socketIn(join(parent, `${PRODUCT}-random`))
  return Buffer.byteLength(path) > MAX_SOCKET_PATH ? '/tmp' : parent
}

/** A start that has not been answered. */
interface PendingStart {
  readonly streams: (Socket | undefined)[]
  pid: number | undefined
  readonly onChange: () => void
  readonly fail: (error: Error) => void
}

/** One running launcher. */
class RunningLauncher {
  readonly #server: Server
  readonly #folder: string
  readonly #child: ChildProcess
  readonly #pending = new Map<string, PendingStart>()
  readonly #started = new Map<string, StartedProcess>()
  /** Ends that were reported before the streams arrived */
  readonly #ends = new Map<string, End>()
  #hasEnded = false

  private constructor(server: Server, folder: string) {
    this.#server = server
    this.#folder = folder
    server.on('connection', (socket) => this.#receive(socket))
    this.#child = spawn(process.execPath, [...programFlags, program, socketIn(folder)], {
      detached: true,
      env: {},
      cwd: '/',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc']
    })
    this.#child.on('message', (report) => this.#report(report as Report))
    this.#child.once('error', () => this.close())
    this.#child.once('exit', () => this.close())
    this.#child.unref()
    this.#child.channel?.unref()
  }

  static async start(): Promise<RunningLauncher> {
    const folder = await makeFolder(socketParent())
    try {
      const server = createServer()
      server.listen(socketIn(folder)).unref()
      await once(server, 'listening')
      return new RunningLauncher(server, folder)
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get isIdle(): boolean {
    return this.#pending.size === 0 && this.#started.size === 0
  }

  launch(options: LaunchOptions, startMs: number, onIdle: () => void): Promise<ServerProcess> {
    const id = randomUUID().replaceAll('-', '')
    const onEnd = () => {
      if (!this.isIdle) return
      this.#child.channel?.unref()
      onIdle()
    }
    this.#child.channel?.ref()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => giveUp(), startMs)
      const settle = () => {
        clearTimeout(timer)
        this.#pending.delete(id)
      }
      const streams: (Socket | undefined)[] = []
      const pending: PendingStart = {
        streams,
        pid: undefined,
        fail: (error) => {
          settle()
          this.#ends.delete(id)
          for (const stream of streams) stream?.destroy()
          reject(error)
          onEnd()
        },
        onChange: () => {
          const [stdin, stdout, stderr] = streams
          if (pending.pid === undefined || !stdin || !stdout || !stderr) return
          settle()
          const child = new StartedProcess(pending.pid, [stdin, stdout, stderr])
          this.#started.set(id, child)
          child.once('exit', () => {
            this.#started.delete(id)
            onEnd()
          })
          resolve(child)
          const end = this.#ends.get(id)
          this.#ends.delete(id)
          if (end) endLater(child, end)
        }
      }
      const giveUp = () => {
        // a launcher that does not answer cannot start anything else either
        if (pending.pid === undefined) return this.close()
        killGroup(pending.pid)
        pending.fail(new Error('its streams did not arrive'))
      }
      this.#pending.set(id, pending)
      if (this.#hasEnded) return pending.fail(new Error('the launcher has ended'))
      this.#child.send({ id, ...options }, (error) => {
        if (error) this.close()
      })
    })
  }

  /** Starts that wait fail, and processes that run count as killed. Idempotent. */
  close(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#server.close()
    void rm(this.#folder, { recursive: true, force: true }).catch(noop)
    if (this.#child.connected) this.#child.disconnect()
    for (const { fail } of [...this.#pending.values()]) fail(new Error('the launcher has ended'))
    for (const child of [...this.#started.values()]) child.end(null, 'SIGKILL')
  }

  #receive(socket: Socket) {
    socket.on('error', noop)
    const read = () => {
      const header = socket.read(HEADER_BYTES) as Buffer | null
      if (header === null) return
      socket.off('readable', read)
      const text = header.toString('latin1')
      const pending = this.#pending.get(text.slice(0, -1))
      if (!pending) return socket.destroy()
      pending.streams[Number(text.at(-1))] = socket
      pending.onChange()
    }
    socket.on('readable', read)
  }

  #report({ id, pid, error, ...end }: Report) {
    const pending = this.#pending.get(id)
    if (error) return pending?.fail(Object.assign(new Error(error.message), { code: error.code }))
    if (pid !== undefined) {
      if (!pending) return
      pending.pid = pid
      return pending.onChange()
    }
    const child = this.#started.get(id)
    if (child) endLater(child, end)
    else if (pending) this.#ends.set(id, end)
  }
}

/** Creates a launcher that starts with the first process, and ends a minute after the last. */
export function createLauncher(idleMs = IDLE_MS, startMs = START_MS): Launcher {
  let running: Promise<RunningLauncher> | undefined
  let isClosed = false
  let idle: NodeJS.Timeout | undefined

  const open = async (): Promise<RunningLauncher> => {
    if (isClosed) throw new Error('the launcher is closed')
    const current = (running ??= RunningLauncher.start())
    const launcher = await current.catch(noop)
    if (launcher && !launcher.hasEnded) return launcher
    if (running === current) running = undefined
    // the reason of a launcher that cannot start
    return launcher ? open() : current
  }
  const end = () => {
    void running?.then((launcher) => launcher.close()).catch(noop)
    running = undefined
  }
  return {
    async start(options) {
      clearTimeout(idle)
      const launcher = await open()
      return launcher.launch(options, startMs, () => {
        clearTimeout(idle)
        if (!isClosed) idle = setTimeout(end, idleMs).unref()
      })
    },
    close() {
      isClosed = true
      clearTimeout(idle)
      end()
    }
  }
}

import cluster, { type Worker } from 'node:cluster'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import { PRODUCT, TITLE } from '../domain/product.ts'
import { VERSION } from '../domain/version.ts'
import { Backoff } from '../lib/backoff.ts'
import { noop } from '../lib/noop.ts'
import { StartupError } from '../lib/startup-error.ts'
import { checkSecretFiles } from '../secret-files.ts'
import { banner, nodeWarnings } from '../start/banner.ts'
import type { Outputs } from '../start/outputs.ts'
import { checkFolders, describeStartError } from '../start/problems.ts'
import { CLOSE_MS, prepareProcess } from '../start/runtime.ts'
import { stopOnSignals } from '../start/signals.ts'
import { keepConnections } from './handed-over.ts'
import { packConfig, type Formats, type FromWorker, type ToWorker } from './messages.ts'
import { createPrimaryLog, type PrimaryLog } from './primary-log.ts'

export interface PrimaryOutputs extends Outputs {
  /** Formats of the lines of the workers. */
  readonly formats: Formats
}

/** First delay, doubled up to the last one, before a worker that ended is replaced. */
const replacement = { firstMs: 200, longestMs: 30_000, stableMs: 60_000 }
/** Longest path of a Unix socket on Linux and macOS, less the name of the socket. */
const MAX_FOLDER_BYTES = 100
/** For workers to end by themselves before they are killed. */
const GRACE_MS = 2_000

type Listening = Extract<FromWorker, { kind: 'listening' }>
type Refusal = Pick<Extract<FromWorker, { kind: 'refused' }>, 'message' | 'exitCode'>

/** A process that serves as a worker. */
interface Run {
  readonly worker: Worker
  /** False for one that replaces another. */
  readonly isFirst: boolean
  readonly startedAt: number
  hasListened: boolean
}

/** Place of a worker, which one process after the other may take. */
interface Slot {
  readonly index: number
  readonly backoff: Backoff
  run: Run | undefined
  timer: NodeJS.Timeout | undefined
}

interface End {
  readonly code: number | null
  readonly signal: string | null
}

/** Path of the program of a worker, for both the built program and its sources. */
const workerProgram = () =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../cli/worker.ts' : './cli/worker.js', import.meta.url))

/** Creates the folder with the sockets of the workers, which nobody else may open. */
function createSocketFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), `${PRODUCT}-`))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  if (Buffer.byteLength(folder) <= MAX_FOLDER_BYTES) return folder
  throw new StartupError(`the path of the temporary folder is too long for sockets, set TMPDIR: ${folder}`)
}

const send = (worker: Worker, message: ToWorker) => {
  // one that ends at this moment is replaced
  if (worker.isConnected()) worker.send(message, noop)
}

interface PoolOptions {
  readonly config: Config
  readonly formats: Formats
  readonly folder: string
  readonly log: PrimaryLog
  /** Called once if a worker refuses to start for the first time, or ends before it listens. */
  readonly onRefusal: (refusal: Refusal) => void
}

/** The worker processes: starts them, replaces those that end, and stops them. */
class WorkerPool {
  readonly #options: PoolOptions
  readonly #slots: readonly Slot[]
  #isStopping = false
  #onEnd: (() => void) | undefined
  #hasFailed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#slots = Array.from({ length: options.config.workers }, (_, index) => ({
      index,
      backoff: new Backoff(replacement),
      run: undefined,
      timer: undefined
    }))
  }

  /** Starts all workers. Resolves when all listen; the first one alone prepares the database and the key file. */
  async start(): Promise<Listening> {
    const [first, ...others] = this.#slots as [Slot, ...Slot[]]
    const listening = await this.#fork(first, true)
    await Promise.all(others.map((slot) => this.#fork(slot, true)))
    return listening
  }

  /** Lets all workers drain. Resolves with true if all of them ended as they should. */
  stop(): Promise<boolean> {
    this.#isStopping = true
    for (const { timer, run } of this.#slots) {
      clearTimeout(timer)
      if (run) send(run.worker, { kind: 'stop' })
    }
    return new Promise((resolve) => {
      this.#onEnd = () => resolve(!this.#hasFailed)
      this.#checkEnd()
    })
  }

  kill(): void {
    this.#isStopping = true
    for (const { run } of this.#slots) run?.worker.process.kill('SIGKILL')
  }

  /** Starts a process at a place. Resolves when it listens, and never if it ends before. */
  #fork(slot: Slot, isFirst: boolean): Promise<Listening> {
    if (this.#isStopping) return new Promise(noop)
    const worker = cluster.fork()
    keepConnections(worker)
    const run: Run = { worker, isFirst, startedAt: performance.now(), hasListened: false }
    slot.run = run
    worker.once('exit', (code, signal) => this.#ended(slot, run, { code, signal }))
    worker.on('error', () => {
      // without a process there is no exit to wait for
      if (worker.process.pid === undefined) this.#ended(slot, run, { code: null, signal: null })
    })
    return new Promise((resolve) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'hello') return this.#configure(slot.index, worker)
        if (message.kind === 'refused') return this.#refused(slot, run, message)
        run.hasListened = true
        resolve(message)
      })
    })
  }

  #configure(index: number, worker: Worker): void {
    if (this.#isStopping) return send(worker, { kind: 'stop' })
    const { formats, folder, config } = this.#options
    // one worker registers the demo server
    const own = { ...config, demo: config.demo && index === 0 }
    const place = { index, count: this.#slots.length, folder }
    send(worker, { kind: 'start', config: packConfig(own), place, formats })
  }

  #refused({ index }: Slot, { isFirst, hasListened }: Run, { message, exitCode }: Refusal): void {
    if (this.#isStopping) return
    // the others may serve well, and this one is started again
    if (!isFirst && !hasListened) {
      return this.#options.log.warn({ worker: index, reason: message }, 'a worker cannot start')
    }
    this.#isStopping = true
    this.#options.onRefusal({ message, exitCode })
  }

  #ended(slot: Slot, run: Run, { code, signal }: End): void {
    const { index, backoff } = slot
    const { isFirst, hasListened, startedAt } = run
    slot.run = undefined
    if (this.#isStopping) {
      if (hasListened && code !== 0) this.#hasFailed = true
      return this.#checkEnd()
    }
    if (isFirst && !hasListened) {
      const message = `worker ${index} ended before it listened (${signal ?? `exit code ${code}`})`
      return this.#refused(slot, run, { message, exitCode: 1 })
    }
    backoff.recordOpen(performance.now() - startedAt)
    this.#replaceLater(slot, { code, signal }, 'a worker ended and is replaced')
  }

  #replaceLater(slot: Slot, details: object, message: string): void {
    if (this.#isStopping) return
    const delayMs = Math.round(slot.backoff.nextDelayMs())
    this.#options.log.warn({ worker: slot.index, ...details, delay_ms: delayMs }, message)
    slot.timer = setTimeout(() => void this.#replace(slot), delayMs)
  }

  async #replace(slot: Slot): Promise<void> {
    try {
      await this.#fork(slot, false)
      this.#options.log.info({ worker: slot.index }, 'a worker was replaced')
    } catch (error) {
      // no memory or no file descriptor for a process: the other workers serve on
      this.#replaceLater(slot, { reason: (error as Error).message }, 'a worker cannot be started')
    }
  }

  #checkEnd(): void {
    if (this.#slots.every(({ run }) => run === undefined)) this.#onEnd?.()
  }
}

/** Stops all workers and exits with this code, or with 1 if one does not end as it should. */
async function stopAndExit(pool: WorkerPool, { timeouts }: Config, exitCode: number): Promise<void> {
  const kill = () => {
    pool.kill()
    process.exit(1)
  }
  setTimeout(kill, timeouts.drainMs + CLOSE_MS + GRACE_MS).unref()
  const isOrderly = await pool.stop()
  process.exit(isOrderly || exitCode !== 0 ? exitCode : 1)
}

function printRefusal(message: string): void {
  process.stderr.write(`${PRODUCT}: cannot start: ${message}\n`)
}

/**
 * Starts the workers of one port, and serves nothing itself. Prints one line and exits if the start fails. Resolves with
 * the URL once all workers listen.
 */
export async function startPrimary(
  config: Config,
  warnings: readonly string[],
  { out, log: output, command, formats }: PrimaryOutputs
): Promise<string | undefined> {
  prepareProcess(PRODUCT)
  const log = createPrimaryLog(output, config)
  let folder: string
  try {
    checkFolders(config)
    checkSecretFiles(config)
    folder = createSocketFolder()
  } catch (error) {
    printRefusal(describeStartError(error, config))
    process.exit(error instanceof StartupError ? error.exitCode : 1)
  }
  out(`${TITLE} ${VERSION} is starting with ${config.workers} workers`)
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({ exec: workerProgram(), args: [] })
  const onRefusal = ({ message, exitCode }: Refusal) => {
    printRefusal(message)
    void stopAndExit(pool, config, exitCode)
  }
  const pool: WorkerPool = new WorkerPool({ config, formats, folder, log, onRefusal })
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'stopping')
    void stopAndExit(pool, config, 0)
  }
  const exit = () => {
    pool.kill()
    process.exit(1)
  }
  stopOnSignals(stop, exit)
  process.once('uncaughtException', (err) => {
    log.fatal({ err: { message: err.message, stack: err.stack } }, 'unexpected fault')
    exit()
  })
  const { url, warnings: found } = await pool.start()
  out(banner(config, url, command, [...warnings, ...found, ...nodeWarnings()]))
  return config.publicUrl ?? url
}

import cluster from 'node:cluster'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../app.ts'
import type { Config } from '../config/config.ts'
import { PRODUCT } from '../domain/product.ts'
import { noop } from '../lib/noop.ts'
import { StartupError } from '../lib/startup-error.ts'
import { baseUrl, initWarnings } from '../start/banner.ts'
import type { Outputs } from '../start/outputs.ts'
import { describeStartError } from '../start/problems.ts'
import { CLOSE_MS, exitOnFaults, listen, prepareProcess } from '../start/runtime.ts'
import { stopOnSignals } from '../start/signals.ts'
import { closeAndExit } from '../start/stop.ts'
import { unpackConfig, type Formats, type FromWorker, type ToWorker, type WorkerStart } from './messages.ts'

type WorkerOutputs = Pick<Outputs, 'out' | 'log'>

const tell = (message: FromWorker, done: () => void = noop) => {
  // the primary process may be gone
  if (process.connected) process.send!(message, undefined, undefined, done)
  else done()
}

/** Tells the primary process why this one cannot start, and exits. */
function refuse(error: unknown, config: Config): void {
  const exitCode = error instanceof StartupError ? error.exitCode : 1
  tell({ kind: 'refused', message: describeStartError(error, config), exitCode }, () => process.exit(exitCode))
}

/** Exits because a database that became reachable after the start is unusable. */
function exitAfterStart(app: FastifyInstance | undefined, error: unknown, config: Config): void {
  const end = () => refuse(error, config)
  setTimeout(end, CLOSE_MS).unref()
  if (app) app.close().then(end, end)
  else end()
}

/** Drains once, whoever asks for it: the primary process, a signal, or the end of the primary process. */
function createStop(app: FastifyInstance, { timeouts }: Config) {
  let isStopping = false
  return (reason: object) => {
    if (isStopping) return
    isStopping = true
    app.log.info(reason, 'stopping')
    closeAndExit(app, timeouts.drainMs)
  }
}

/** Serves as one of the workers until it is told to stop. */
async function serve({ config: packed, place }: WorkerStart, { out, log }: WorkerOutputs): Promise<void> {
  prepareProcess(`${PRODUCT}: worker ${place.index}`)
  const config = unpackConfig(packed)
  let app: FastifyInstance | undefined
  // before it listens there is nothing to drain
  let stop: (reason: object) => void = () => process.exit(0)
  process.on('message', ({ kind }: ToWorker) => {
    if (kind === 'stop') stop({})
  })
  process.once('disconnect', () => stop({ reason: 'the primary process has ended' }))
  try {
    const onFailure = (error: unknown) => exitAfterStart(app, error, config)
    app = await buildApp(config, { log, onProgress: out, onFailure, place })
    stop = createStop(app, config)
    stopOnSignals((signal) => stop({ signal }))
    exitOnFaults(app)
    await listen(app, config)
  } catch (error) {
    await app?.close()
    refuse(error, config)
    return
  }
  const address = app.server.address() as AddressInfo
  tell({ kind: 'listening', url: baseUrl(address), warnings: initWarnings(app, config) })
}

/** Runs this process as a worker of the process that started it. */
export function serveAsWorker(outputsFor: (formats: Formats) => WorkerOutputs): void {
  const { worker } = cluster
  if (!worker) throw new Error('a worker is started by the gateway only')
  // otherwise Node ends the process at once when the primary process is gone; it drains instead
  worker.exitedAfterDisconnect = true
  const receive = (message: ToWorker) => {
    if (message.kind === 'stop') process.exit(0)
    process.off('message', receive)
    void serve(message, outputsFor(message.formats))
  }
  process.on('message', receive)
  tell({ kind: 'hello' })
}

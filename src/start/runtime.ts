import { executionAsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { closeInheritedDescriptors } from './inherited-descriptors.ts'

/** Time to stop child processes and close the database, after draining. */
export const CLOSE_MS = 10_000

/**
 * Turns off V8's allocation-site pretenuring. V8 would allocate some objects of each call directly in the old
 * generation and never revise that; dead, they retain everything they refer to until a full collection (measured: 6 kB
 * per call).
 */
function disablePretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Lets the heap grow to three times its live size before V8 collects all of it. Received data counts towards that limit,
 * which for a heap of 35 MB may be so close that large results cause a full collection each few megabytes, while the next
 * young one would free them (measured: a call of 1 MB costs three times as much CPU). At twice the live size, calls of
 * 100 kB cause one every 0.8 s; at three times, none.
 */
function delayFullCollections(): void {
  setFlagsFromString('--heap-growing-percent=200')
}

/**
 * Keeps one object that `process.nextTick` queues alive. At a full collection V8 drops the hidden class of objects of
 * which none is alive, and code optimised for it stays slow (measured: 24 calls of V8's runtime per tool call).
 */
function keepTickShape(): void {
  process.nextTick(() => {
    const tick = executionAsyncResource()
    process.once('exit', () => tick)
  })
}

/** Sets up a process that was just started. */
export function prepareProcess(title: string): void {
  // without a listener SIGUSR1 opens Node's inspector to every local user
  process.on('SIGUSR1', () => {})
  process.title = title
  closeInheritedDescriptors()
  disablePretenuring()
  delayFullCollections()
  keepTickShape()
}

/** Listens without Fastify's own log line: the banner names the address. */
export async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  await app.ready()
  const { level } = app.log
  if (level === 'info') app.log.level = 'warn'
  // for `localhost` Fastify would listen with a second server too, which has none of the limits
  await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port })
  app.log.level = level
}

/** Logs an uncaught fault and exits, child processes included: the state of the process is unknown. */
export function exitOnFaults(app: FastifyInstance): void {
  const end = (err: unknown) => {
    app.log.fatal({ err }, 'unexpected fault')
    setTimeout(() => process.exit(1), 2_000).unref()
    void app.close().finally(() => process.exit(1))
  }
  process.once('uncaughtException', end)
  process.once('unhandledRejection', end)
}

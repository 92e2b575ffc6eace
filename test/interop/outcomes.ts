import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Launch } from '../conformance/servers.ts'
import { waitUntilReady } from '../conformance/processes.ts'
import { freePort } from '../ports.ts'
import type { Client, Server, Transport } from './programs.ts'

/** Columns of the matrix, in the order in which clients try them. */
export const features = [
  'init',
  'lists',
  'text',
  'image',
  'structured',
  'error',
  'no-arguments',
  'prompt',
  'read',
  'template',
  'wildcard',
  'complete',
  'progress',
  'log',
  'cancel',
  'sampling',
  'elicitation',
  'roots',
  'parallel',
  'askers',
  'subscribe',
  'list-changed'
] as const
export type Feature = (typeof features)[number]

export interface Outcome {
  readonly outcome: 'ok' | 'failed' | 'unsupported'
  readonly note: string
}
export type Outcomes = Readonly<Record<Feature, Outcome>>

/** A running server, or the command of a stdio server, and the log file that it writes. */
export interface Target {
  readonly transport: Transport
  /** URL; over stdio the command as JSON. */
  readonly url: string
  readonly ledger: string
  readonly stop: () => Promise<void>
}

const clientLimitMs = 600_000

/** Starts the server, unless the client starts it, with a new log file. */
export async function startServer(launch: Launch, server: Server, transport: Transport): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'towpath-interop-'))
  const ledger = join(folder, 'ledger')
  const remove = () => rm(folder, { recursive: true, force: true })
  const command = [...server.command, '--transport', transport]
  if (transport === 'stdio') return { transport, url: JSON.stringify(command), ledger, stop: remove }
  const port = await freePort()
  const [program, ...args] = [...command, '--port', String(port)]
  const started = launch(program, args, { ...quiet, INTEROP_LEDGER: ledger })
  const url = `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`
  await waitUntilReady(started, () => answers(url))
  return { transport, url, ledger, stop: () => started.stop().then(remove) }
}

export const quiet = { PYTHONWARNINGS: 'ignore' }

/** Resolves with true once any response arrives. */
async function answers(url: string): Promise<boolean> {
  const controller = new AbortController()
  try {
    await fetch(url, { signal: controller.signal })
    return true
  } finally {
    controller.abort()
  }
}

/** Runs the client to completion and returns its outcome for each feature. */
export async function tryFeatures(
  launch: Launch,
  client: Client,
  target: Omit<Target, 'stop'>,
  more: readonly string[] = []
): Promise<Outcomes> {
  const where = ['--url', target.url, '--transport', target.transport, '--ledger', target.ledger]
  const [program = '', ...args] = [...client.command, ...where, ...more]
  const started = launch(program, args, { ...quiet, INTEROP_LEDGER: target.ledger })
  const timer = setTimeout(() => void started.stop(), clientLimitMs)
  const code = await started.exited
  clearTimeout(timer)
  return readOutcomes(started.output(), code)
}

/** Features that the client did not reach have failed. */
export function readOutcomes(output: string, code: number | string): Outcomes {
  const lines = output.split('\n').filter((line) => line.startsWith('{"feature"'))
  const said = new Map(lines.map((line) => JSON.parse(line) as Outcome & { feature: string }).map(pair))
  const rest = lines.length === 0 ? `ended with ${code}: ${output.slice(-300)}` : 'not reached'
  const missing: Outcome = { outcome: 'failed', note: rest }
  return Object.fromEntries(features.map((feature) => [feature, said.get(feature) ?? missing])) as unknown as Outcomes
}

const pair = ({ feature, outcome, note }: Outcome & { feature: string }) => [feature, { outcome, note }] as const

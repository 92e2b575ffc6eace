import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { addCleanup } from '../store.ts'
import { toolsFolder } from '../tools/tools.ts'
import { cleanEnv, root, run } from './harness.ts'
import { until } from '../until.ts'

/**
 * Use of a block by a test. `start`: runs in its own terminal until the end; `run`: in the reader's terminal; `answer`:
 * the output of that; `client`: passed to clients; `browser`: what the reader does in a browser.
 */
type Use = 'start' | 'run' | 'answer' | 'client' | 'browser'

/** A fenced block whose info string has a second word. */
export interface Block {
  readonly use: string
  readonly text: string
}

const uses: readonly Use[] = ['start', 'run', 'answer', 'client', 'browser']

export const readPage = (path: string) => readFileSync(join(root, path), 'utf8')

export const blocksOf = (page: string, ...wanted: readonly string[]): Block[] =>
  [...page.matchAll(/^```\w+ (\w+)\n(.*?)^```$/gms)]
    .map(([, use, text]) => ({ use: use!, text: text! }))
    .filter(({ use }) => (wanted.length > 0 ? wanted : uses).some((each) => each === use))

/** Values that differ between machines: the one in the documentation, and the one here. */
export type Places = readonly (readonly [named: string, here: string])[]

/** Returns a text with the values of this machine, in which nothing is replaced again. */
export function put(text: string, [place, ...others]: Places): string {
  if (!place) return text
  const [named, here] = place
  return text
    .split(named)
    .map((part) => put(part, others))
    .join(here)
}

/**
 * Returns the expected response with `…` replaced by actual values; a member `…` stands for all members that are not
 * shown.
 */
function filled(expected: unknown, given: unknown): unknown {
  if (typeof expected === 'string' && typeof given === 'string' && expected.includes('…')) {
    const [before = '', after = ''] = expected.split('…')
    return given.startsWith(before) && given.endsWith(after) && given.length > before.length ? given : expected
  }
  if (Array.isArray(expected) && Array.isArray(given)) return expected.map((item, i) => filled(item, given[i]))
  if (typeof expected !== 'object' || expected === null || typeof given !== 'object' || given === null) return expected
  const member = (name: string) => (given as Record<string, unknown>)[name]
  const { '…': rest, ...shown } = expected as Record<string, unknown>
  const members = Object.entries(shown).map(([name, value]) => [name, filled(value, member(name))] as const)
  return { ...(rest === undefined ? {} : given), ...Object.fromEntries(members) }
}

function assertAnswer(printed: string, expected: string): void {
  const given = JSON.parse(printed) as unknown
  assert.deepEqual(given, filled(JSON.parse(expected), given))
}

/** Opens a terminal: settings of one command apply to the next. A failing command ends it. */
export function openTerminal(t: TestContext, cwd: string, env: NodeJS.ProcessEnv) {
  const shell = spawn('bash', ['-eo', 'pipefail'], { cwd, env })
  addCleanup(t, () => shell.kill('SIGKILL'))
  let printed = ''
  let complaints = ''
  let commands = ''
  let told = () => {}
  const failed = new Promise<never>((_, reject) =>
    shell.once('close', (code, signal) =>
      reject(new Error(`a command of the page ended with ${code ?? signal}: ${commands}\n${complaints}${printed}`))
    )
  )
  failed.catch(() => {})
  shell.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
    told()
  })
  shell.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString()
  })
  return async (text: string): Promise<string> => {
    commands = text
    printed = complaints = ''
    const done = new Promise<void>((resolve) => {
      told = () => printed.endsWith('\0') && resolve()
    })
    shell.stdin.write(`{\n${text}\n} < /dev/null\nprintf '\\0'\n`)
    await Promise.race([done, failed])
    return printed.slice(0, -1)
  }
}

/** Fills a folder with the files of a clone after `npm ci`, as far as starting needs them. */
export async function cloneProject(folder: string): Promise<void> {
  for (const name of [
    'src',
    'migrations',
    'dashboard',
    'scripts',
    'package.json',
    'tsconfig.json',
    'vite.config.ts',
    'openapi.json'
  ]) {
    await cp(join(root, name), join(folder, name), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
}

/** Starts a process that runs, with its children, until the test ends. */
async function startService(t: TestContext, text: string, cwd: string, env: NodeJS.ProcessEnv, url: string) {
  const service = run(t, 'bash', ['-c', text], { cwd, env, detached: true })
  addCleanup(t, async () => {
    process.kill(-service.pid, 'SIGTERM')
    await service.exited
  })
  const ended = service.exited.then((code) => {
    throw new Error(`${text}\nended with ${code}: ${service.output()}`)
  })
  await Promise.race([until(`${url} to answer`, async () => (await fetch(url)).status > 0, 180_000), ended])
}

export interface Follow {
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
  readonly places: Places
  /** URLs that answer once each `start` block is up, in order. */
  readonly services?: readonly string[]
  /** Called for each `client` block, with the configuration as a client on this machine would hold it. */
  /** Called for each `browser` block. */
  readonly onBrowser?: (text: string) => Promise<void>
  readonly onClient?: (configuration: string, terminal: (text: string) => Promise<string>) => Promise<void>
}

/** Follows the page as a reader would, block by block. */
export async function follow(t: TestContext, blocks: readonly Block[], options: Follow): Promise<void> {
  const { cwd, places, services = [], onClient, onBrowser } = options
  const env = { ...cleanEnv(), ...options.env }
  env['PATH'] = `${join(toolsFolder, 'bin')}:${env['PATH']}`
  const terminal = openTerminal(t, cwd, env)
  const urls = services.values()
  let printed = ''
  for (const block of blocks) {
    const text = put(block.text, places)
    if (block.use === 'start') await startService(t, text, cwd, env, urls.next().value!)
    else if (block.use === 'run') printed = await terminal(text)
    else if (block.use === 'answer') assertAnswer(printed, text)
    else if (block.use === 'browser') await onBrowser?.(text)
    else await onClient?.(text, terminal)
  }
}

import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { waitUntilReady, start, type ManagedProcess } from '../conformance/processes.ts'
import { freePort } from '../ports.ts'
import type { Launch } from '../conformance/servers.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { ownBuild } from './gateway.ts'
import { commandsOf, type Command } from './mcpjungle-commands.ts'

/** The newest release, whose requests are in test/fixtures/mcpjungle. */
const MODULE = 'github.com/mcpjungle/mcpjungle@v0.4.5'
const folder = fileURLToPath(new URL('../../node_modules/.cache/interop/mcpjungle', import.meta.url))
const program = join(folder, 'mcpjungle')

/** Builds the program if needed. Resolves with the reason if that is impossible. */
async function prepare(): Promise<string | undefined> {
  if (existsSync(program)) return undefined
  await mkdir(folder, { recursive: true })
  const { exited, output } = start('go', ['install', MODULE], { GOBIN: folder })
  const code = await exited
  return code === 0 ? undefined : `go install ${MODULE}: ${code} ${output().slice(-500).trim()}`
}

/** Runs one command of the program. Returns the problem with its exit or output, undefined if there is none. */
async function run({ args, exit = 0, says }: Command, home: string): Promise<string | undefined> {
  const { exited, output } = start(program, args, { HOME: home })
  const code = await exited
  const text = output()
  if (code !== exit) return `exit code ${code} in place of ${exit}: ${text.slice(-500)}`
  return says && !says.test(text) ? `does not say ${says}: ${text.slice(-500)}` : undefined
}

async function runMode(launch: Launch, mode: 'development' | 'enterprise', url: string): Promise<number> {
  const home = await mkdtemp(join(tmpdir(), 'towpath-mcpjungle-'))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const env = { HOST: '127.0.0.1', PORT: String(port), SERVER_MODE: mode, TOWPATH_DATA_DIR: join(home, 'data') }
  const gateway = launch(process.execPath, [ownBuild, 'start'], env)
  await waitUntilReady(gateway, async () => (await fetch(`${origin}/ready`)).status < 500)
  await writeFile(join(home, '.mcpjungle.conf'), `registry_url: ${origin}\n`)
  let failed = 0
  for (const command of await commandsOf(mode, url, home)) {
    const problem = await run(command, home)
    console.log(`${problem === undefined ? '✔' : '✘'} ${mode} mcpjungle ${command.args.join(' ')}`)
    if (problem !== undefined) console.log(`  ${problem.trim().replaceAll('\n', '\n  ')}`)
    if (problem !== undefined) failed++
  }
  await gateway.stop()
  await rm(home, { recursive: true, force: true })
  return failed
}

/**
 * Runs MCPJungle's own command line against the gateway in both modes. Resolves with the exit code: 1 if a command ends
 * differently than documented, or if `isRequired` and the program cannot be built.
 */
export async function runMcpjungle(launch: Launch, isRequired: boolean): Promise<number> {
  const missing = await prepare()
  if (missing !== undefined) {
    console.error(`\n!!! SKIPPED: the command line of MCPJungle cannot be had: ${missing}\n`)
    return isRequired ? 1 : 0
  }
  const upstream = await startRecorder(null)
  try {
    const failed =
      (await runMode(launch, 'development', upstream.url)) + (await runMode(launch, 'enterprise', upstream.url))
    console.log(failed === 0 ? 'every command ended as documented' : `${failed} commands ended otherwise`)
    return failed === 0 ? 0 : 1
  } finally {
    await upstream.close()
  }
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({ options: { require: { type: 'boolean', default: false } } })
  const running: ManagedProcess[] = []
  try {
    const launch: Launch = (...given) => {
      const started = start(...given)
      running.push(started)
      return started
    }
    process.exitCode = await runMcpjungle(launch, values.require)
  } finally {
    await Promise.all(running.map((each) => each.stop()))
  }
}

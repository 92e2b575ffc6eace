import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { until } from '../until.ts'
import type { CommandLine } from './cli.ts'
import { cleanEnv, towpathCommand, type Gateway } from './harness.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** Returns a folder that contains the command. */
export async function binFolder(home: string): Promise<string> {
  const folder = join(home, 'bin')
  await mkdir(folder, { recursive: true })
  const words = [process.execPath, ...towpathCommand()].map((word) => `'${word}'`)
  await writeFile(join(folder, 'towpath'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
  return folder
}

interface Setup {
  readonly gateway: Gateway
  readonly cli: CommandLine
  /** URL of an upstream that can be registered. */
  readonly url: string
  /** An administrator's token. */
  readonly token: string
}

const INTERRUPT = '\u0003'
const CLEAR_LINE = '\u0015'
// oxlint-disable-next-line no-control-regex -- what colours begin with
const colour = /\u001b\[\d+m/

/** Tests features that only a terminal has or that need a person's input. Each line runs in a separate process. */
export async function personAtTerminal(t: TestContext, { gateway, cli, url, token }: Setup): Promise<void> {
  const env = { ...cleanEnv(), HOME: cli.home, TOWPATH_REGISTRY: gateway.url }
  const inputrc = join(cli.home, 'inputrc')
  await writeFile(inputrc, 'set enable-bracketed-paste off\n')
  const PATH = `${await binFolder(cli.home)}:${process.env.PATH}`
  const terminal = await openTerminal(t, { ...env, PATH, INPUTRC: inputrc })
  await testSignIn(terminal, cli, token)
  assert.equal((await cli(['register', 'alpha', '--url', url])).code, 0)
  await testColours(terminal)
  await testSpinner(terminal)
  await testFollowing(terminal, cli)
  await testCompletion(terminal)
  await testDeletion(terminal, cli)
  await testPruning(terminal, cli)
  await terminal.close()
}

async function testSignIn(terminal: Terminal, { home }: CommandLine, token: string): Promise<void> {
  const question = /Access token: $/
  const interrupted = await terminal.run('towpath login', [question, INTERRUPT])
  assert.equal(interrupted.code, 130, interrupted.shown)
  const { shown, code } = await terminal.run('towpath login', [question, `${token}\n`])
  assert.equal(code, 0, shown)
  assert.match(shown, /signed in as admin/)
  assert.ok(!shown.includes(token), 'what is typed is not shown')
  assert.ok((await readFile(join(home, '.towpath.conf'), 'utf8')).includes(token))
}

async function testColours(terminal: Terminal): Promise<void> {
  const coloured = await terminal.run('towpath get server alhpa')
  assert.equal(coloured.code, 3)
  assert.match(coloured.shown, colour)
  const plain = await terminal.run(
    'NO_COLOR=1 towpath get server alhpa; towpath lst --no-color; towpath get server alhpa 2>&1 | cat'
  )
  assert.ok(!plain.shown.includes('\u001b'), plain.shown)
  assert.equal(plain.shown.split(/^hint: did you mean/m).length, 4, plain.shown)
}

async function testSpinner(terminal: Terminal): Promise<void> {
  const { shown, code } = await terminal.run('towpath invoke alpha__slow --timeout 900ms')
  assert.equal(code, 1)
  assert.match(shown, /^(\r. waiting for the gateway)+\r +\r\S*error:/u)
}

/** Tests that following ends on an interrupt, and when the reader of its output closes the pipe. */
async function testFollowing(terminal: Terminal, cli: CommandLine): Promise<void> {
  const interrupted = await terminal.run('towpath logs -f', [/AT +OUTCOME/, INTERRUPT])
  assert.equal(interrupted.code, 130)
  // a failed call may be listed, with the error in its row
  assert.doesNotMatch(interrupted.shown, /^\S*error:/m)
  let hasEnded = false
  const piped = terminal.run('towpath logs -f -o name | head -n 1; echo ended $PIPESTATUS').finally(() => {
    hasEnded = true
  })
  await until('it to see that nobody reads', async () => {
    if (!hasEnded) await cli(['invoke', 'alpha__echo'])
    return hasEnded
  })
  // the spinner of a slow response is on stderr and is erased
  const shown = (await piped).shown.replace(/^(?:\r\S waiting for the gateway)+\r +\r/, '')
  assert.match(shown, /^\d+\r\nended 0\r?\n?$/)
}

async function testCompletion(terminal: Terminal): Promise<void> {
  assert.equal((await terminal.run('source <(towpath completion bash)')).code, 0)
  terminal.type('towpath regis\t')
  await terminal.shows(/towpath register $/)
  terminal.type(CLEAR_LINE)
}

async function testDeletion(terminal: Terminal, cli: CommandLine): Promise<void> {
  const question = /Delete server "alpha"\? \[y\/N\] $/
  const kept = await terminal.run('towpath deregister alpha', [question, 'n\n'])
  assert.equal(kept.code, 0)
  assert.match(kept.shown, /nothing was deleted/)
  assert.equal((await cli(['list', 'servers', '-o', 'name'])).out, 'alpha\n')
  assert.equal((await terminal.run('towpath deregister alpha', [question, 'y\n'])).code, 0)
  assert.equal((await cli(['list', 'servers', '-o', 'name'])).out, '')
}

/** Tests that pruning asks for confirmation of each record missing from the files. */
async function testPruning(terminal: Terminal, cli: CommandLine): Promise<void> {
  const folder = join(cli.home, 'wanted')
  const group = (name: string) => JSON.stringify({ name, included_servers: [] })
  await mkdir(join(folder, 'groups'), { recursive: true })
  for (const name of ['kept', 'gone']) await writeFile(join(folder, 'groups', `${name}.json`), group(name))
  assert.equal((await cli(['apply', '-f', folder])).code, 0)
  await rm(join(folder, 'groups', 'gone.json'))

  const question = /This deletes:\r?\n {2}group "gone"\r?\nContinue\? \[y\/N\] $/
  const left = await terminal.run(`towpath apply -f '${folder}' --prune`, [question, 'n\n'])
  assert.deepEqual([left.code, /nothing was changed/.test(left.shown)], [0, true], left.shown)
  assert.equal((await cli(['list', 'groups', '-o', 'name'])).out, 'gone\nkept\n')
  assert.equal((await terminal.run(`towpath apply -f '${folder}' --prune`, [question, 'y\n'])).code, 0)
  assert.equal((await cli(['list', 'groups', '-o', 'name'])).out, 'kept\n')
}

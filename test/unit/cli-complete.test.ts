import assert from 'node:assert/strict'
import test from 'node:test'
import type { Command } from 'commander'
import { browserCommand, canOpenBrowser } from '../../src/cli/io/browser.ts'
import { OPERANDS, OPTION_VALUES, completionAt } from '../../src/cli/completion/context.ts'
import { createInertProgram } from '../../src/cli/reference.ts'
import { createSpinner } from '../../src/cli/io/spinner.ts'
import { until } from '../until.ts'

const program = createInertProgram()
const at = (...line: string[]) => completionAt(program, line)
const texts = (...line: string[]): readonly string[] => {
  const { candidates } = at(...line)
  assert.ok('words' in candidates, JSON.stringify(candidates))
  return candidates.words.map(({ text }) => text)
}
const live = (...line: string[]) => {
  const { candidates } = at(...line)
  return 'kinds' in candidates ? candidates.kinds : undefined
}

test('a line is completed with commands, options, their values, names or files', () => {
  assert.ok(texts('').includes('register'))
  assert.ok(!texts('').includes('__complete'))
  assert.ok(texts('list', '').includes('mcp-clients'))
  assert.deepEqual(texts('-o', ''), ['table', 'wide', 'json', 'yaml', 'name'])
  assert.deepEqual(texts('create', 'user', '--role', ''), ['user', 'auditor', 'admin'])
  assert.deepEqual(texts('create', 'user', '--role='), ['--role=user', '--role=auditor', '--role=admin'])
  for (const option of ['--group', '--registry', '--help']) assert.ok(texts('invoke', '--').includes(option))
  assert.deepEqual(live('get', 'tool', ''), ['tool'])
  assert.deepEqual(live('show', 'tools', ''), ['tool'])
  assert.deepEqual(live('enable', 'prompt', ''), ['prompt', 'server'])
  assert.deepEqual(live('rm', ''), ['server'])
  assert.deepEqual(live('list', 'tools', '--group', ''), ['group'])
  assert.deepEqual(live('delete', 'client', '-q', ''), ['client'])
  assert.deepEqual(at('validate', '').candidates, { files: true })
  assert.deepEqual(at('register', '-c', '').candidates, { files: true })
  assert.deepEqual(at('register', 'x', '--', 'npx', '').candidates, { files: true })
  assert.deepEqual(texts('usage', 'a__b', ''), [])
  assert.deepEqual(texts('create', 'group', ''), [])
})

test('the names are those of the gateway that the line names', () => {
  assert.equal(at('--registry', 'http://x:1', 'get', 'tool', '').registry, 'http://x:1')
  assert.equal(at('get', 'tool', '--registry=http://x:1', '').registry, 'http://x:1')
  assert.equal(at('get', 'tool', '').registry, undefined)
})

test('what is completed is an option or operand of the tree', () => {
  const every = (command: Command): Command[] => [command, ...command.commands.flatMap(every)]
  const options = new Set(every(program).flatMap((command) => command.options.map(({ long }) => long)))
  for (const name of Object.keys(OPTION_VALUES)) assert.ok(options.has(name), name)
  for (const path of Object.keys(OPERANDS)) {
    const command = program.commands.find((each) => each.name() === path)
    assert.ok(command && command.registeredArguments.length > 0, path)
  }
})

test('a URL goes to the browser as one argument, whatever is in it', () => {
  const url = 'https://x/?a=1&b=$(c)'
  const opener = (BROWSER: string | undefined, platform: NodeJS.Platform) =>
    browserCommand({ env: { BROWSER } }, url, platform)
  assert.deepEqual(opener(undefined, 'linux'), ['xdg-open', url])
  assert.deepEqual(opener(undefined, 'darwin'), ['open', url])
  assert.deepEqual(opener(undefined, 'win32'), ['rundll32', 'url.dll,FileProtocolHandler', url])
  assert.deepEqual(opener('firefox --new-window %s', 'linux'), ['firefox', '--new-window', url])
  assert.deepEqual(opener('firefox', 'linux'), ['firefox', url])
})

test('waiting is told on a terminal alone, once it takes long, and leaves nothing behind', async () => {
  let written = ''
  const stderr = { isTTY: true, write: (text: string) => (written += text) }
  const waitingOn = (sink: object, flags: object = {}, env: object = {}) =>
    createSpinner({ env, stderr: sink } as Parameters<typeof createSpinner>[0], flags)
  await waitingOn(stderr)(until('the spinner to turn', () => written.split('\r').length > 3))
  assert.match(written, /^(\r[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] waiting for the gateway)+\r +\r$/)
  written = ''
  await waitingOn(stderr)(Promise.resolve())
  assert.equal(written, '')
  const work = Promise.resolve()
  const silent = [
    waitingOn({ ...stderr, isTTY: false }),
    waitingOn(stderr, { quiet: true }),
    waitingOn(stderr, {}, { TERM: 'dumb' })
  ]
  for (const waiting of silent) assert.equal(waiting(work), work)
})

test('a browser is opened only where the person at the terminal can see it', () => {
  const can = (env: Record<string, string>, platform: NodeJS.Platform = 'linux') => canOpenBrowser({ env }, platform)
  assert.deepEqual(
    [can({ DISPLAY: ':0' }), can({ WAYLAND_DISPLAY: 'wayland-0' }), can({}, 'darwin')],
    [true, true, true]
  )
  assert.deepEqual(
    [can({}), can({ DISPLAY: ':10', SSH_CONNECTION: 'a' }), can({ CI: '1' }, 'darwin')],
    [false, false, false]
  )
  assert.equal(can({ BROWSER: 'w3m' }), true)
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import type { Command } from 'commander'
import { commandReference, createInertProgram } from '../../src/cli/reference.ts'
import { LINES, PROCESSES } from '../e2e/every-command.ts'

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

test('docs/reference/cli.md is what `npm run openapi` writes', () => {
  const path = new URL('../../docs/reference/cli.md', import.meta.url)
  assert.equal(readFileSync(path, 'utf8'), commandReference())
})

test('every command and every option says what it is for', () => {
  for (const command of everyCommand(createInertProgram())) {
    assert.notEqual(command.description(), '', command.name())
    for (const { flags, description } of command.options) assert.notEqual(description, '', `${command.name()} ${flags}`)
  }
})

test('the spellings of MCPJungle are understood', () => {
  const names = (path: readonly string[]): string[] => {
    let command = createInertProgram()
    for (const name of path) command = command.commands.find((each) => each.name() === name)!
    return command.commands.flatMap((each) => [each.name(), ...each.aliases()])
  }
  const has = (path: readonly string[], ...wanted: string[]) => {
    const found = names(path)
    for (const name of wanted) assert.ok(found.includes(name), `${path.join(' ')} ${name}`)
  }
  has([], 'start', 'register', 'deregister', 'list', 'usage', 'invoke', 'get', 'enable', 'disable', 'create', 'update')
  has([], 'delete', 'init-server', 'login', 'version', 'validate')
  has(['list'], 'tools', 'prompts', 'resources', 'servers', 'mcp-clients', 'users', 'groups')
  for (const verb of ['create', 'update', 'delete']) has([verb], 'group', 'mcp-client', 'user')
  for (const verb of ['enable', 'disable']) has([verb], 'tool', 'prompt', 'server')
  has(['get'], 'group', 'prompt', 'resource')
})

test('every command is run against a gateway in both modes', () => {
  const pathOf = (command: Command): string =>
    command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
  const commands = everyCommand(createInertProgram()).filter(({ commands: below }) => below.length === 0)
  const run = new Set(LINES.map(({ command }) => command))
  for (const command of commands.map(pathOf)) {
    const file = PROCESSES[command]
    if (file === undefined) assert.ok(run.delete(command), `${command} has no line in test/e2e/every-command.ts`)
    else assert.match(readFileSync(new URL(`../e2e/${file}`, import.meta.url), 'utf8'), new RegExp(`'${command}'`))
  }
  assert.deepEqual([...run], [], 'lines of commands that are not there')
})

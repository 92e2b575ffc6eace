import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { environmentOf, instructionsOf, lastOf, parseDockerfile } from '../dockerfile.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const stages = parseDockerfile(read('Dockerfile'))
const names = stages.map(({ name }) => name)
const images = ['latest', 'stdio'] as const

const execForm = (text = ''): string[] => {
  const parsed = JSON.parse(text.slice(text.indexOf('['))) as string[]
  assert.ok(Array.isArray(parsed))
  return parsed
}

test('every base is a stage or one version: Node 24 to the patch, uv to the patch, Debian to the release', () => {
  const bases = stages.map(({ from }) => from).filter((from) => !names.includes(from))
  assert.equal(bases.length, 3)
  assert.match(bases[0]!, /^node:24\.\d+\.\d+-[a-z]+-slim$/)
  assert.match(bases[1]!, /^ghcr\.io\/astral-sh\/uv:\d+\.\d+\.\d+$/)
  assert.match(bases[2]!, /^debian:[a-z]+-slim$/)
  assert.equal(/-([a-z]+)-slim/.exec(bases[0]!)![1], /:([a-z]+)-slim/.exec(bases[2]!)![1])
})

test('what is built without a target is the slim image', () => {
  assert.equal(names.at(-1), 'latest')
  const copied = instructionsOf(stages, 'latest').filter(({ name }) => name === 'COPY')
  assert.equal(
    copied.some(({ text }) => /npm|uvx|npx/.test(text)),
    false
  )
})

test('the stdio image has npx and uvx besides', () => {
  const text = instructionsOf(stages, 'stdio')
    .map((one) => one.text)
    .join('\n')
  for (const command of ['/uvx ', '/usr/local/bin/npx', '/usr/local/bin/npm'])
    assert.ok(text.includes(command), command)
})

for (const image of images) {
  const instructions = instructionsOf(stages, image)

  test(`${image} runs as a user without rights, told by number so that Kubernetes can see it`, () => {
    assert.equal(lastOf(instructions, 'USER'), '1000:1000')
  })

  test(`${image} starts Node itself, with no shell in between that would keep the environment readable`, () => {
    const start = ['node', '--v8-pool-size=0', '/app/dist/src/cli/main.js']
    assert.deepEqual(execForm(lastOf(instructions, 'ENTRYPOINT')), start)
    assert.deepEqual(execForm(lastOf(instructions, 'CMD')), ['start'])
  })

  test(`${image} asks /health by Node, which needs no further program`, () => {
    const [command, flag, script = ''] = execForm(lastOf(instructions, 'HEALTHCHECK'))
    assert.deepEqual([command, flag], ['node', '-e'])
    assert.match(script, /path: '\/health'/)
  })

  test(`${image} listens on all addresses and holds no secret`, () => {
    const environment = environmentOf(instructions)
    assert.deepEqual(environment, {
      NODE_ENV: 'production',
      HOME: '/home/towpath',
      HOST: '0.0.0.0',
      PORT: '8080',
      TOWPATH_DATA_DIR: '/data'
    })
    assert.equal(
      instructions.some(({ name }) => name === 'ARG' || name === 'ADD'),
      false
    )
  })

  test(`SE-11 ${image} has a Node executable that its user can start and not read`, () => {
    const node = instructions.filter(({ name, text }) => name === 'COPY' && text.endsWith('/usr/local/bin/node'))
    assert.deepEqual(
      node.map(({ flags }) => [flags['chown'], flags['chmod']]),
      [['0:0', '0711']]
    )
  })

  test(`${image} holds nothing that its user could change`, () => {
    for (const { name, flags, text } of instructions) if (name === 'COPY') assert.equal(flags['chown'], '0:0', text)
  })
}

test('the build sees what .dockerignore names, all of which exists, and nothing else', () => {
  const [first, ...kept] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  assert.equal(first, '*')
  for (const line of kept) {
    assert.match(line, /^![\w.-]+$/)
    assert.ok(existsSync(new URL(line.slice(1), root)), line)
  }
  const inputs = stages.flatMap(({ instructions }) =>
    instructions
      .filter(({ name, flags }) => name === 'COPY' && !('from' in flags))
      .flatMap(({ text }) => text.split(' '))
  )
  for (const input of inputs) if (!input.startsWith('.')) assert.ok(kept.includes(`!${input}`), input)
})

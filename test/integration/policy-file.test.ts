import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { readPolicyFile } from '../../src/control/policies/file.ts'
import { freshConfig, openApp } from '../app.ts'
import { addCleanup, tempDir } from '../store.ts'
import { as, namesOf, startPolicyGateway } from './policy-helpers.ts'

async function write(t: TestContext, content: string, name = 'policies.yaml'): Promise<string> {
  const path = join(await tempDir(t), name)
  await writeFile(path, content)
  return path
}

const policies = `
# who may use what
- name: all-read
  effect: allow
  targets: { tools: ["get_*"] }
- name: dev-restarts
  effect: allow
  targets: { tools: ["restart_*"] }
  when: args.namespace == "dev"
  reason: Restarts are for dev.
`
const inFile = (name: string) => ({
  error: `policy "${name}" is in the policy file of the gateway, and can be changed only there`,
  code: 'policy_in_file'
})

test('policies of the file decide together with stored ones, and are changed in the file only', async (t) => {
  const file = await write(t, policies)
  const { rest, mcp, agent, policy } = await startPolicyGateway(t, { TOWPATH_POLICY_FILE: file })
  const restart = async (namespace: string) => {
    const params = { name: 'k8s__restart_pod', arguments: { namespace } }
    return (await mcp.modern('tools/call', params, as(agent))).body.result
  }
  assert.notEqual((await restart('dev')).isError, true)
  assert.equal((await restart('live')).content[0].text, 'Restarts are for dev.')
  assert.deepEqual((await rest('GET', '/policies/dev-restarts')).body, {
    ...{ name: 'dev-restarts', effect: 'allow', mode: 'enforce', enabled: true, subjects: {} },
    ...{ targets: { tools: ['restart_*'] }, when: 'args.namespace == "dev"', reason: 'Restarts are for dev.' },
    source: 'file'
  })
  const rule = { effect: 'deny', targets: { tools: ['restart_*'] } }
  for (const [method, path, body] of [
    ['POST', '/policies', { name: 'all-read', ...rule }],
    ['PUT', '/policies/all-read', rule],
    ['DELETE', '/policies/all-read', undefined]
  ] as const) {
    const answer = await rest(method, path, body)
    assert.deepEqual([answer.status, answer.body], [409, inFile('all-read')], method)
  }
  await policy('no-restarts', rule)
  assert.ok((await mcp.modern('tools/call', { name: 'k8s__restart_pod', arguments: {} }, as(agent))).body.error)
  const { body } = await rest('GET', '/policies')
  assert.deepEqual(
    (body as { name: string; source?: string }[]).map(({ name, source }) => `${name} ${source}`),
    ['all-read file', 'dev-restarts file', 'no-restarts undefined']
  )
  const trial = { client: 'agent', kind: 'tool', name: 'k8s__get_pods', with: [{ name: 'all-read', ...rule }] }
  assert.equal((await rest('POST', '/policies/simulate', trial)).body.decision, 'deny', 'a trial can replace them')
})

const admin = 'administrator-token-of-these-tests'
const env = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ADMIN_TOKEN: admin,
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
}

const send = async (app: FastifyInstance, method: 'GET' | 'POST', payload?: object) => {
  const answer = await app.inject({ method, url: '/api/v0/policies', headers: as(admin), ...(payload && { payload }) })
  return answer.json()
}

test('a policy of the file replaces the stored one of its name while it is there', async (t) => {
  const config = await freshConfig(t, env)
  const open = async (policyFile?: string) => {
    const lines: string[] = []
    const app = await openApp({ ...config, policyFile }, { log: { write: (line) => lines.push(line) } })
    addCleanup(t, () => app.close())
    const effects = async () => {
      const list = (await send(app, 'GET')) as { name: string; effect: string }[]
      return list.map(({ name, effect }) => `${effect} ${name}`)
    }
    return { app, lines, effects }
  }
  const first = await open()
  for (const name of ['all-read', 'own']) await send(first.app, 'POST', { name, effect: 'deny', everyone: true })
  await first.app.close()
  const second = await open(await write(t, JSON.stringify([{ name: 'all-read', effect: 'allow', everyone: true }])))
  assert.deepEqual(await second.effects(), ['allow all-read', 'deny own'])
  const log = second.lines.join('')
  assert.match(log, /"policies":1,"sha256":"[0-9a-f]{64}","msg":"policies were read from the policy file"/)
  assert.match(log, /"policies":\["all-read"\],"count":1,"msg":"stored policies have no effect/)
  await second.app.close()
  const third = await open()
  assert.deepEqual(await third.effects(), ['deny all-read', 'deny own'])
})

test('a file with mistakes stops the start, and each is named with its place', async (t) => {
  const rule = 'effect: deny, everyone: true'
  const cases: [content: string, reason: RegExp][] = [
    ['- name: [', /not valid YAML \(line 1: /],
    ['- { name: p, effect: deny, effect: allow }', /not valid YAML \(line 1: DUPLICATE_KEY\)/],
    ['hello', /it must contain a list of policies$/],
    ['policies: { name: p }', /it must contain a list of policies$/],
    ['- deny', /policy 1: the body must be an object/],
    ['- { effect: deny }', /policy 1: "name" is required/],
    ['- { name: a b, effect: deny, everyone: true }', /policy "a b": "name" must be 1 to 64 letters/],
    ['- { name: p, effect: maybe }', /policy "p": "effect" must be one of allow, deny/],
    [`- { name: p, ${rule}, source: file }`, /policy "p": unknown member "source"/],
    ['- { name: p, effect: deny }', /policy "p": everyone: a rule without subjects and targets/],
    [`- { name: p, ${rule}, when: args.a == nobody }`, /policy "p": when: .*nobody.* \(at character 11\)/],
    [`- { name: p, ${rule} }\n- { name: p, ${rule} }`, /policy "p" is there twice/],
    [`- { name: effective, ${rule} }`, /policy "effective": name: "effective" is reserved/],
    [
      Array.from(
        { length: 5 },
        (_, i) =>
          `- { name: p${i}, ${rule}, require_scopes: [${Array.from({ length: 8 }, (_, j) => `"mcp:${i}${j}"`).join()}] }`
      ).join('\n'),
      /all policies together can require 32 scopes/
    ]
  ]
  for (const [content, reason] of cases) {
    const path = await write(t, content)
    await assert.rejects(readPolicyFile(path), (error: Error) => {
      assert.equal(error.name, 'StartupError')
      assert.ok(error.message.startsWith(`TOWPATH_POLICY_FILE: ${path}: `), error.message)
      assert.match(error.message, reason)
      assert.doesNotMatch(error.message, /\n/)
      return true
    })
  }
  const many = Array.from({ length: 9 }, (_, i) => `- { name: p${i}, effect: deny }`).join('\n')
  await assert.rejects(readPolicyFile(await write(t, many)), /policy "p4": everyone: [^;]*; and 4 more problems$/)
  const config = await freshConfig(t, env)
  await assert.rejects(openApp({ ...config, policyFile: '/nowhere/policies.yaml' }), {
    message: 'TOWPATH_POLICY_FILE: /nowhere/policies.yaml: the file does not exist'
  })
})

test('an empty file is no policy, and a list in JSON is one as well', async (t) => {
  assert.deepEqual((await readPolicyFile(await write(t, ''))).policies, [])
  const list = JSON.stringify([{ name: 'p', effect: 'deny', everyone: true }])
  assert.deepEqual(namesOf((await readPolicyFile(await write(t, list, 'p.json'))).policies), ['p'])
})

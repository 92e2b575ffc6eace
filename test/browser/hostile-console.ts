import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { connectClient, REDIRECT, registerClient } from '../fixtures/identity-provider/gateway.ts'
import { startListed } from '../fixtures/listed/listed.ts'
import { startConsole, type Console } from '../integration/console-helpers.ts'
import { tool } from '../integration/definition-helpers.ts'
import { registrationOf } from '../e2e/upstream.ts'
import { hostile, startHostile } from './world.ts'

const evil = Object.values(hostile).join(' ')

/** Starts a console where every text that comes from outside is hostile. */
export async function startHostileConsole(t: TestContext): Promise<Console> {
  const console = await startConsole(t)
  const { gateway } = console
  const upstream = await startHostile(t)
  const write = async (path: string, body: object) => {
    const answer = await gateway.api('POST', path, body)
    assert.equal(answer.status, 201, `${path} ${JSON.stringify(answer.body)}`)
  }
  await write('/servers', registrationOf('hostile', upstream))
  await write('/servers?save=disabled', {
    name: 'failing',
    transport: 'stdio',
    description: evil,
    command: process.execPath,
    args: ['-e', `console.error(${JSON.stringify(evil)}); process.exit(3)`]
  })
  await write('/policies', {
    name: 'hostile-is-open',
    effect: 'allow',
    reason: evil,
    targets: { servers: ['hostile', 'k8s'] }
  })
  await write('/tool-groups', { name: 'all', description: evil, included_servers: ['hostile', 'k8s'] })
  gateway.idp.people.set('mallory', {
    ...gateway.idp.people.get('alice')!,
    email: 'mallory@example.com',
    name: evil,
    preferred_username: 'mallory',
    groups: [evil, hostile.script]
  })
  const redirect_uris = [REDIRECT, 'https://xn--80ak6aa92e.com/callback']
  const clientId = await registerClient(gateway, { client_name: evil, redirect_uris })
  await connectClient(gateway, { person: 'mallory', clientId })
  await write('/teams', { name: 'platform', members: [{ user: 'mallory' }], groups: [evil] })
  for (const role of ['admin', 'user'] as const) {
    const body = { name: 'hostile__look', [hostile.image]: 'b' }
    await console.send(role, 'POST', '/api/v0/tools/invoke', { body })
  }
  return console
}

/** Makes definitions and a call of a user wait for a decision, with hostile texts in both. */
export async function addWaiting(t: TestContext, { gateway, send }: Console): Promise<void> {
  const { api } = gateway
  const listed = await startListed(t, 'streamable_http', { tools: [tool('read', 'Reads')] })
  assert.equal((await api('POST', '/servers', { name: 'changed', ...listed.registration })).status, 201)
  listed.set({ tools: [tool('read', evil), tool('write', evil)] })
  assert.equal((await api('POST', '/servers/changed/refresh')).status, 200)
  const policy = { name: 'ask-first', effect: 'approve', reason: evil, targets: { servers: ['k8s'] } }
  assert.equal((await api('POST', '/policies', policy)).status, 201)
  const body = { name: 'k8s__echo', text: evil, [hostile.image]: evil }
  assert.equal((await send('user', 'POST', '/api/v0/tools/invoke', { body })).status, 409)
}

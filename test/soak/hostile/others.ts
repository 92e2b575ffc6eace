import { setTimeout as delay } from 'node:timers/promises'
import { legacyBody, modernBody, modernHeaders } from '../../integration/mcp-messages.ts'
import { tokens, type Ask, type Deployment } from './deployment.ts'
import type { Latency } from './latency.ts'

const PAUSE_MS = 100
const ADMIN_EVERY_MS = 3_000

type Action = (ask: Ask) => ReturnType<Ask>

const call = { name: 'good__echo', arguments: { text: 'x' } }
const { admin, client } = tokens
/** Actions of other callers during an attack. */
const others: Readonly<Record<string, Action>> = {
  'REST call': (ask) => ask('POST', '/api/v0/tools/invoke', admin, { name: call.name, text: 'x' }),
  'legacy call': (ask) => ask('POST', '/mcp', client, legacyBody('tools/call', call)),
  'modern call': (ask) =>
    ask('POST', '/mcp', client, modernBody('tools/call', call), modernHeaders('tools/call', call.name)),
  list: (ask) => ask('POST', '/mcp', client, legacyBody('tools/list'))
}

/** Calls a server unrelated to the attack repeatedly, and records the response times. */
export async function measure({ ask }: Deployment, latency: Latency, stop: AbortSignal): Promise<void> {
  const caller = async ([kind, work]: [string, Action]) => {
    while (!stop.aborted) {
      const begun = performance.now()
      try {
        const { status, text } = await work(ask)
        if (status === 200 && !text.includes('"error"')) latency.record(kind, performance.now() - begun)
        else latency.recordFailure(kind, `${status} ${text}`)
      } catch (error) {
        latency.recordFailure(kind, `no answer: ${(error as Error).message}`)
      }
      await delay(PAUSE_MS)
    }
  }
  await Promise.all(Object.entries(others).map(caller))
}

const attacker = '/api/v0/clients/attacker'
const inspections: Readonly<Record<string, Action>> = {
  'list servers': (ask) => ask('GET', '/api/v0/servers', admin),
  'list calls': (ask) => ask('GET', '/api/v0/calls', admin)
}
const rotations: Readonly<Record<string, Action>> = {
  "rotate the attacker's token": (ask) => ask('PUT', attacker, admin, { access_token: tokens.rotated }),
  'give it back': (ask) => ask('PUT', attacker, admin, { access_token: tokens.attacker })
}
const switchTo =
  (name: string, verb: 'enable' | 'disable'): Action =>
  (ask) =>
    ask('POST', `/api/v0/servers/${name}/${verb}`, admin)
const switchesOf = (hostile: readonly string[]) =>
  Object.fromEntries(
    hostile.flatMap((name) =>
      (['disable', 'enable'] as const).map((verb) => [`${verb} ${name}`, switchTo(name, verb)] as const)
    )
  )

/**
 * Acts as an administrator who inspects the gateway and revokes the attackers' resources: each action must work at any
 * time.
 */
export async function administer(deployment: Deployment, latency: Latency, stop: AbortSignal): Promise<void> {
  const deeds = { ...inspections, ...switchesOf(deployment.hostile), ...(deployment.isEnterprise && rotations) }
  while (!stop.aborted) {
    for (const [deed, work] of Object.entries(deeds)) {
      if (stop.aborted && !deed.startsWith('enable') && deed !== 'give it back') continue
      const begun = performance.now()
      const { status, text } = await work(deployment.ask).catch((error: Error) => ({ status: 0, text: error.message }))
      if (status >= 200 && status < 300) latency.record(`admin: ${deed}`, performance.now() - begun)
      else latency.recordFailure(`admin: ${deed}`, `${status} ${text}`)
      await delay(ADMIN_EVERY_MS / 10, undefined, { signal: stop }).catch(() => {})
    }
    await delay(ADMIN_EVERY_MS, undefined, { signal: stop }).catch(() => {})
  }
}

/** Enables or disables all hostile servers; throws if one fails. */
export async function switchHostile({ ask, hostile }: Deployment, verb: 'enable' | 'disable'): Promise<void> {
  for (const name of hostile) {
    const { status, text } = await switchTo(name, verb)(ask)
    if (status !== 200) throw new Error(`${verb} ${name}: ${status} ${text}`)
  }
}

import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { restart, root, startGateway, type Gateway } from '../../e2e/harness.ts'
import { startRecorder } from '../../fixtures/http/recorder.ts'
import { startSse } from '../../fixtures/http/sse.ts'
import { legacyBody, modernBody, modernHeaders } from '../../integration/mcp-helpers.ts'
import { freshPlace, addCleanup } from '../../store.ts'
import { startMachine } from '../machine.ts'
import type { Mode } from '../target.ts'
import { problemOfReply, valuesOf, type Reply } from './oracle.ts'

/** A gateway with good servers, next to which bad ones are registered. */
export interface Victim {
  readonly mode: Mode
  readonly gateway: () => Gateway
  /** Sends any request; `who` selects the token. Rejects without a response. */
  ask(
    method: string,
    path: string,
    body?: object | string,
    who?: 'admin' | 'client',
    headers?: Record<string, string>,
    patienceMs?: number
  ): Promise<Reply & { readonly headers: Headers }>
  /** Returns a problem with parts unrelated to a bad server; undefined if there is none. */
  check(): Promise<string | undefined>
  /** Stops the gateway and starts it on the same store. Returns the problem, if any. */
  restart(signal: NodeJS.Signals): Promise<string | undefined>
  /** True if a response says that a server was too slow while the machine was busy: it says nothing about the gateway. */
  readonly isLate: (reply: Reply) => boolean
  readonly headers: (who: 'admin' | 'client') => Record<string, string>
}

const ADMIN = 'fuzz-admin-token-0123456789'
const CLIENT = 'fuzz-client-token-0123456789'
const GOOD = ['good', 'goodpipe', 'goodsse'] as const
/**
 * Time limit of a response. Slow ones are retried, since the machine may be busy; a hanging gateway is slow every time.
 */
const SLOW_MS = 1_000
const EFFECT_MS = 2_000
/** Factor on the machine's delay: a busy machine delays each of several processes in turn. */
const SLACK = 10
/** Above this delay of an idle process, timed-out calls say nothing about the gateway. */
const BUSY_MS = 100
const PATIENCE_MS = 30_000

const settings = {
  TOWPATH_CONNECT_TIMEOUT_MS: '2500',
  TOWPATH_CALL_TIMEOUT_MS: '2000',
  TOWPATH_CALL_TOTAL_TIMEOUT_MS: '5000',
  TOWPATH_LOG_LEVEL: 'warn'
}
const textOf = (body: object | string) => (typeof body === 'string' ? body : JSON.stringify(body))
const both = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Lists over REST and both eras of MCP: the member with the items, and the request. */
const lists = [
  ...['tools', 'prompts', 'resources', 'resource_templates'].map((name) => ({
    way: 'rest' as const,
    name,
    member: ''
  })),
  ...(['legacy', 'modern'] as const).flatMap((way) => [
    { way, name: 'tools/list', member: 'tools' },
    { way, name: 'prompts/list', member: 'prompts' },
    { way, name: 'resources/list', member: 'resources' },
    { way, name: 'resources/templates/list', member: 'resourceTemplates' }
  ])
]
/** Views also read in each round, since they contain text of upstreams. */
const views = {
  development: ['overview', 'servers', 'tools', 'prompts', 'resources', 'diagnostics'].map(
    (name) => `/api/dashboard/${name}`
  ),
  enterprise: ['/api/v0/audit', '/api/v0/server_configs']
}

class Problem extends Error {}

export async function startVictim(t: TestContext, mode: Mode): Promise<Victim> {
  const isEnterprise = mode === 'enterprise'
  const env = { ...settings, ...(isEnterprise && { SERVER_MODE: mode, TOWPATH_ADMIN_TOKEN: ADMIN }) }
  const place = await freshPlace(t, 'pglite')
  let gateway = await startGateway(t, { env, place })
  const recorder = await startRecorder(null, { name: 'good', tells: true, modern: true })
  addCleanup(t, recorder.close)
  const forget = setInterval(() => recorder.requests.splice(0), 1_000)
  addCleanup(t, () => clearInterval(forget))
  const sse = await startSse(null)
  addCleanup(t, sse.close)
  const machine = await startMachine(t)
  const isLate = (reply: Reply) =>
    machine.delayMs() > BUSY_MS && /in time|longer than it may/.test(reply.bytes.toString('latin1'))

  const headers: Victim['headers'] = (who) =>
    isEnterprise ? { authorization: `Bearer ${who === 'admin' ? ADMIN : CLIENT}` } : {}
  const send: Victim['ask'] = async (method, path, body, who = 'admin', more = {}, patienceMs = PATIENCE_MS) => {
    const given = body === undefined ? {} : { body: textOf(body) }
    const response = await fetch(gateway.url + path, {
      method,
      ...given,
      headers: { ...(body === undefined ? { accept: both.accept } : both), ...headers(who), ...more },
      signal: AbortSignal.timeout(patienceMs)
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    return {
      status: response.status,
      type: response.headers.get('content-type') ?? '',
      bytes,
      headers: response.headers
    }
  }
  /** Names the request in the error of a time limit: several clients run beside each other. */
  const once: Victim['ask'] = (...request) =>
    send(...request).catch((error: Error) => {
      if (error.name !== 'TimeoutError') throw error
      const [method, path, body] = request
      const about = `${method} ${path} ${body === undefined ? '' : textOf(body).slice(0, 300)}`
      const busy = `the machine answers after ${Math.round(machine.delayMs())} ms`
      throw Object.assign(new Error(`${about}: ${error.message}; ${busy}`, { cause: error }), { name: error.name })
    })
  /** Expects a valid 2xx response; repeats the request if the gateway is overloaded or the machine busy. */
  const expectGood = async (what: string, ask: () => ReturnType<typeof once>): Promise<unknown> => {
    for (let tries = 1; ; tries++) {
      const reply = await ask()
      const problem = problemOfReply(what, reply)
      if (problem !== undefined) throw new Problem(problem)
      if (tries < 10 && isLate(reply)) continue
      if (reply.status < 300) return valuesOf(reply).at(-1)
      if (reply.status !== 503 || tries === 10) throw new Problem(`${what}: ${reply.status} ${reply.bytes.toString()}`)
      await delay(300)
    }
  }
  const mcp = (way: 'legacy' | 'modern', method: string, params: { name?: string } = {}) =>
    way === 'legacy'
      ? once('POST', '/mcp', legacyBody(method, params), 'client')
      : once('POST', '/mcp', modernBody(method, params), 'client', modernHeaders(method, params.name))

  const readLists = async (): Promise<object[][]> => {
    const found: object[][] = []
    for (const { way, name, member } of lists) {
      const what = `${way} ${name}`
      const items: object[] = []
      let cursor: string | undefined
      do {
        const ask = () =>
          way === 'rest'
            ? once('GET', `/api/v0/${name}`)
            : mcp(way, name, cursor === undefined ? {} : ({ cursor } as object))
        const value = (await expectGood(what, ask)) as { result?: Record<string, unknown> }
        const page = member === '' ? value : value.result?.[member]
        if (!Array.isArray(page)) throw new Problem(`${what}: no list in ${JSON.stringify(value).slice(0, 500)}`)
        items.push(...(page as object[]))
        cursor = member === '' ? undefined : (value.result?.nextCursor as string | undefined)
      } while (cursor !== undefined)
      found.push(items)
    }
    return found
  }
  let baseline: object[][] = []
  const checkLists = async () => {
    const found = await readLists()
    for (const [at, { way, name }] of lists.entries()) {
      const missing = baseline[at]!.find((item) => !found[at]!.some((each) => isDeepStrictEqual(each, item)))
      if (missing) throw new Problem(`${way} ${name}: lost or changed ${JSON.stringify(missing)}`)
    }
  }
  const checkFast = async (path: string) => {
    for (let tries = 1; ; tries++) {
      const begun = performance.now()
      const reply = await once('GET', path)
      const took = performance.now() - begun
      if (reply.status === 200 && took < SLOW_MS + SLACK * machine.delayMs()) return
      if (tries === 3)
        throw new Problem(`${path}: ${reply.status} after ${Math.round(took)} ms ${reply.bytes.toString()}`)
      await delay(500)
    }
  }
  const checkCalls = async () => {
    for (const server of GOOD) {
      const call = { name: `${server}__echo`, arguments: { text: 'x' } }
      await expectGood(`REST call of ${server}`, () =>
        once('POST', '/api/v0/tools/invoke', { ...call.arguments, name: call.name })
      )
      for (const way of ['legacy', 'modern'] as const) {
        const value = (await expectGood(`${way} call of ${server}`, () => mcp(way, 'tools/call', call))) as {
          result?: object
        }
        if (!value.result) throw new Problem(`${way} call of ${server}: ${JSON.stringify(value)}`)
      }
    }
  }
  /** Asserts that an administrator's change soon takes effect. */
  const inForce = async (what: string, isSo: () => Promise<boolean>) => {
    const begun = performance.now()
    while (!(await isSo())) {
      if (performance.now() - begun > EFFECT_MS + SLACK * machine.delayMs()) {
        throw new Problem(`${what} is not in force after ${Math.round(performance.now() - begun)} ms`)
      }
      await delay(20)
    }
  }
  let writes = 0
  const checkWrites = async () => {
    const name = `w${++writes}`
    const [path, body] = isEnterprise
      ? ['/api/v0/clients', { name, allowed_servers: ['good'] }]
      : ['/api/v0/tool-groups', { name, included_servers: ['good'] }]
    const made = (await expectGood(`POST ${path}`, () => once('POST', path, body))) as { access_token?: string }
    const use = async () => {
      const authorization = isEnterprise ? { authorization: `Bearer ${made.access_token}` } : {}
      const reply = await once(
        'POST',
        isEnterprise ? '/mcp' : `/v0/groups/${name}/mcp`,
        legacyBody('tools/list'),
        'client',
        authorization
      )
      return reply.status
    }
    await inForce(`what POST ${path} makes`, async () => (await use()) === 200)
    await expectGood(`DELETE ${path}`, () => once('DELETE', `${path}/${name}`))
    await inForce(`DELETE ${path}`, async () => (await use()) === (isEnterprise ? 401 : 404))
  }
  const checkViews = async () => {
    for (const path of ['/api/v0/servers', ...views[mode]]) await expectGood(path, () => once('GET', path))
  }
  const all = async (): Promise<string | undefined> => {
    try {
      for (const path of ['/health', '/ready']) await checkFast(path)
      await checkLists()
      await checkCalls()
      await checkViews()
      await checkWrites()
      return undefined
    } catch (error) {
      return error instanceof Problem ? error.message : `no answer: ${(error as Error).message}`
    }
  }
  const ended = () =>
    `it has ended: ${gateway.child.exitCode ?? gateway.child.signalCode}\n${gateway.output().slice(-3_000)}`
  const hasEnded = () => gateway.child.exitCode !== null || gateway.child.signalCode !== null
  const check = async () => {
    const problem = await Promise.race([all(), gateway.exited.then(() => 'it has ended')])
    // an exiting process is about to report it
    if (problem !== undefined && !hasEnded()) await delay(200)
    return hasEnded() ? ended() : problem
  }

  const added: object[] = [
    { transport: 'streamable_http', url: recorder.url },
    {
      transport: 'stdio',
      command: process.execPath,
      args: [join(root, 'test/fixtures/stdio/good.mjs')],
      session_mode: 'stateful'
    },
    { transport: 'sse', url: sse.url, session_mode: 'stateful' }
  ]
  const set = async (path: string, body: object) => {
    for (let tries = 1; ; tries++) {
      const reply = await once('POST', path, body)
      if (reply.status === 201) return
      if (tries === 10 || !isLate(reply)) throw new Error(`${path}: ${reply.status} ${reply.bytes.toString()}`)
    }
  }
  for (const [at, name] of GOOD.entries()) await set('/api/v0/servers', { name, ...added[at] })
  if (isEnterprise) await set('/api/v0/clients', { name: 'fuzz', allowed_servers: ['*'], access_token: CLIENT })
  baseline = await readLists()
  return {
    mode,
    gateway: () => gateway,
    ask: once,
    isLate,
    headers,
    check,
    async restart(signal) {
      await gateway.stop(signal)
      try {
        gateway = await restart(t, gateway, { env })
      } catch (error) {
        return `it does not start again: ${(error as Error).message}`
      }
      return check()
    }
  }
}

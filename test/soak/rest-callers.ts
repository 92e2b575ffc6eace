import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../e2e/harness.ts'
import { ask, count, repeat, type World } from './world.ts'

export const invoker = (world: World, caller: number) =>
  repeat(world, 'invoke', 60, async (round) => {
    const own = `rest ${caller} ${round}`
    const reply = await ask(world, 'POST', '/api/v0/tools/invoke', world.admin, { name: 'alpha__echo', own })
    if (reply.status === 200 && !reply.text.includes(own)) world.tally.recordLoss('invoke', `not mine: ${reply.text}`)
    else count(world, 'invoke', reply, 200)
  })

/** Callers that abort their calls. */
export const leaver = (world: World) =>
  repeat(world, 'abort', 100, async () => {
    const signal = AbortSignal.timeout(randomInt(5, 300))
    const body = { name: 'alpha__slow', ms: 1_000 }
    try {
      count(world, 'abort', await ask(world, 'POST', '/api/v0/tools/invoke', world.admin, body, signal), 200)
    } catch (error) {
      if (!signal.aborted) throw error
      world.tally.recordAnswer('abort')
    }
  })

const stdio = { transport: 'stdio', command: process.execPath, args: [join(root, 'test/fixtures/stdio/good.mjs')] }

/**
 * Servers that are registered, called once and removed; every fourth is a process. A fault can leave one behind for the
 * next round.
 */
export const registrar = (world: World) =>
  repeat(world, 'register', 500, async (round) => {
    const name = `r${round % 3}`
    const server = round % 4 === 0 ? stdio : { transport: 'streamable_http', url: world.upstreamUrl }
    count(world, 'remove', await ask(world, 'DELETE', `/api/v0/servers/${name}`, world.admin), 204, 404)
    const made = await ask(world, 'POST', '/api/v0/servers', world.admin, { name, ...server })
    if (!count(world, 'register', made, 201, 409)) return
    const used = await ask(world, 'POST', '/api/v0/tools/invoke', world.admin, { name: `${name}__echo`, a: 1 })
    count(world, 'use', used, 200, 404)
  })

export const toggler = (world: World) =>
  repeat(world, 'toggle', 200, async (round) => {
    const path = `/api/v0/tools/${round % 2 === 0 ? 'disable' : 'enable'}?entity=alpha__whoami`
    count(world, 'toggle', await ask(world, 'POST', path, world.admin), 200)
    count(world, 'list', await ask(world, 'GET', '/api/v0/tools', world.admin), 200)
  })

/** Clients that are created, call once and are removed. */
export const principals = (world: World) =>
  repeat(world, 'client', 500, async (round) => {
    const name = `p${round % 3}`
    count(world, 'client', await ask(world, 'DELETE', `/api/v0/clients/${name}`, world.admin), 204, 404)
    const made = await ask(world, 'POST', '/api/v0/clients', world.admin, { name, allowed_servers: ['alpha'] })
    if (!count(world, 'client', made, 201, 409) || made.status === 409) return
    const { access_token: token } = JSON.parse(made.text) as { access_token: string }
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const headers = { authorization: `Bearer ${token}` }
    // a fault between the write and the reload refuses the client until the database is back
    const end = performance.now() + 10_000
    let used = await ask(world, 'POST', '/mcp', headers, ping)
    while (used.status === 401 && performance.now() < end) {
      await delay(250)
      used = await ask(world, 'POST', '/mcp', headers, ping)
    }
    count(world, 'client', used, 200)
  })

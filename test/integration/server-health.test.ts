import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandLine } from '../e2e/cli.ts'
import { startFaulty } from '../fixtures/http/faulty.ts'
import { ADMIN } from '../fixtures/identity-provider/gateway.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { startConsole } from './console-helpers.ts'

interface Health {
  readonly status: string
  readonly last_error?: string
  readonly tool_count: number
  readonly calls_24h: { readonly calls: number; readonly p95_ms?: number }
}

/** What one place says of each server: its state, and the rest as far as the place has it. */
type Statements = Readonly<Record<string, readonly unknown[]>>

test('console, REST, command line, doctor and metrics tell the same health of each server', async (t) => {
  const { gateway, send } = await startConsole(t)
  const broken = await startFaulty(null)
  addCleanup(t, broken.close)
  const add = async (name: string, url: string) => {
    const made = await gateway.api('POST', '/servers', { name, transport: 'streamable_http', url })
    assert.equal(made.status, 201, JSON.stringify(made.body))
  }
  await add('broken', broken.url)
  await add('off', broken.url)
  assert.equal((await gateway.api('POST', '/servers/off/disable')).status, 200)
  for (const name of ['k8s__echo', 'broken__echo']) await gateway.api('POST', '/tools/invoke', { name })
  await broken.close()
  assert.notEqual((await gateway.api('POST', '/servers/broken/refresh')).status, 200)

  const rest = async () =>
    (await gateway.api('GET', '/servers?include=health')).body as readonly {
      readonly name: string
      readonly health: Health
    }[]
  await until('both calls are in the log', async () =>
    (await rest()).every(({ name, health }) => name === 'off' || health.calls_24h.calls === 1)
  )
  const truth = Object.fromEntries((await rest()).map(({ name, health }) => [name, health]))
  assert.deepEqual(
    Object.entries(truth).map(([name, { status }]) => `${name} ${status}`),
    ['broken failing', 'k8s connected', 'off disabled']
  )
  const wanted = (select: (health: Health) => readonly unknown[]): Statements =>
    Object.fromEntries(Object.entries(truth).map(([name, health]) => [name, select(health)]))

  const { servers } = (await (await send('admin', 'GET', '/api/console/servers')).json()) as {
    servers: readonly Record<string, any>[]
  }
  assert.deepEqual(
    Object.fromEntries(
      servers.map(({ name, status, status_since, last_error, tool_count, stats_24h: calls }) => [
        name,
        [status, status_since, last_error, tool_count, calls?.calls ?? 0, calls?.p95_ms]
      ])
    ),
    Object.fromEntries(
      Object.entries(truth).map(([name, health]) => [
        name,
        [
          health.status,
          (health as { since?: string }).since,
          health.last_error,
          health.tool_count,
          health.calls_24h.calls,
          health.calls_24h.p95_ms
        ]
      ])
    )
  )

  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: ADMIN })
  const lines = (await cli(['list', 'servers'])).out.trimEnd().split('\n').slice(1)
  assert.deepEqual(
    Object.fromEntries(lines.map((line) => line.split(/ {2,}/)).map(([name, ...said]) => [name, said.slice(0, 3)])),
    wanted(({ status, tool_count, calls_24h }) => [status, String(tool_count), String(calls_24h.calls)])
  )

  const { checks } = (await cli(['doctor', '--json'])).json as {
    checks: readonly { id: string; status: string; detail?: string }[]
  }
  const found = { connected: 'pass', failing: 'fail', disabled: 'pass' } as Readonly<Record<string, string>>
  assert.deepEqual(
    Object.fromEntries(
      checks.flatMap(({ id, status, detail }) =>
        id.startsWith('server:') ? [[id.slice('server:'.length), [status, detail]]] : []
      )
    ),
    wanted(({ status, last_error }) => [found[status], last_error])
  )

  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  const gauge = [...metrics.matchAll(/^towpath_server_up\{mcp_server_name="([^"]+)"[^}]*\} (\d)/gm)]
  assert.deepEqual(
    gauge.map(([, name, value]) => `${name} ${value}`).toSorted(),
    ['broken 0', 'k8s 1'],
    'a disabled server has no gauge'
  )
})

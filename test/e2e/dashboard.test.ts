import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { startFaulty } from '../fixtures/http/faulty.ts'
import { addCleanup } from '../store.ts'
import { addUpstream, registerAs, skip, startEnterprise } from './enterprise.ts'
import { root } from './harness.ts'

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const dashboard = JSON.parse(read('deploy/grafana/towpath.json')) as {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}
const alerts = parse(read('deploy/prometheus/alerts.yml')) as {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

const queries: readonly (readonly [what: string, query: string])[] = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ...dashboard.templating.list.flatMap(({ name, definition }) => (definition ? [[name, definition] as const] : [])),
  ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const))
]

/** Labels that Prometheus adds to every series, and to the parts of a histogram. */
const added = ['job', 'instance', 'le']

/** Returns the label names of each served series. */
function readSeries(text: string): Map<string, Set<string>> {
  const series = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z][\w:]*)(?:\{(.*)\})? \S+$/gm)) {
    const known = series.get(name) ?? new Set(added)
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
    series.set(name, known)
  }
  return series
}

/** Returns the metrics of a gateway on which an event of every kind has happened. */
async function scrape(t: TestContext): Promise<string> {
  const gateway = await startEnterprise(t)
  await addUpstream(t, gateway, 'alpha')
  const faulty = await startFaulty(null)
  addCleanup(t, faulty.close)
  await registerAs(gateway.admin, { name: 'beta', transport: 'streamable_http', url: faulty.url })
  faulty.mode = 'bad_gateway'
  await gateway.cliAll.legacy('tools/call', { name: 'alpha__echo' }, await gateway.cliAll.initialize())
  await gateway.cliAll.modern('tools/call', { name: 'beta__echo' })
  const answer = await gateway.get('/metrics')
  assert.equal(answer.status, 200)
  return answer.text
}

test('every metric and label that dashboard and alerts name is served', { skip }, async (t) => {
  const text = await scrape(t)
  const series = readSeries(text)
  assert.ok(queries.length > 20)
  for (const [what, query] of queries) {
    const names = [...query.matchAll(/\b(?:towpath|process)_\w+/g)].map(([name]) => name)
    assert.ok(names.length > 0 || query.startsWith('up{'), what)
    for (const name of names) assert.ok(series.has(name), `${what}: ${name}`)
    for (const [, name = '', matchers = ''] of query.matchAll(/\b((?:towpath|process)_\w+)\{([^}]*)\}/g)) {
      for (const [, label = ''] of matchers.matchAll(/(\w+)(?:=~?|!~|!=)"/g)) {
        assert.ok(series.get(name)!.has(label), `${what}: ${name}{${label}}`)
      }
    }
    for (const [, labels = ''] of query.matchAll(/\b(?:by|on) \(([^)]*)\)/g)) {
      for (const label of labels.split(/, */)) {
        assert.ok(
          names.some((name) => series.get(name)!.has(label)),
          `${what}: by ${label}`
        )
      }
    }
  }
})

test('the values of labels that they ask for are those that the reference tells of', () => {
  const reference = read('docs/reference/metrics.md')
  for (const [what, query] of queries) {
    for (const [, label = '', value = ''] of query.matchAll(/(\w+)=~?"([^"$]+)"/g)) {
      if (added.includes(label)) continue
      for (const one of value.split('|')) assert.ok(reference.includes(`\`${one}\``), `${what}: ${label}="${one}"`)
    }
  }
})

test('each panel and alert has a name of its own, and panels lie beside each other', () => {
  const names = [...dashboard.panels.map(({ title }) => title), ...alerts.groups[0]!.rules.map(({ alert }) => alert)]
  assert.equal(new Set(names).size, names.length)
  const cells = dashboard.panels.flatMap((panel) => {
    const { x, y, w, h } = (panel as unknown as { gridPos: Record<'x' | 'y' | 'w' | 'h', number> }).gridPos
    assert.ok(x + w <= 24, panel.title)
    return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)}/${y + Math.floor(cell / w)}`)
  })
  assert.equal(new Set(cells).size, cells.length)
})

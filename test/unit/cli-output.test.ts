import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { createPainter } from '../../src/cli/io/messages.ts'
import { localTime, momentOf } from '../../src/cli/io/moments.ts'
import { createSpinner } from '../../src/cli/io/spinner.ts'
import { COLUMNS, type Records } from '../../src/cli/output/records.ts'
import { listView, rowsView } from '../../src/cli/output/views.ts'
import type { CliIo } from '../../src/cli/io/io.ts'

const server = (name: string, health?: Records['server']['health']): Records['server'] => ({
  name,
  transport: 'stdio',
  command: 'npx',
  session_mode: 'stateless',
  enabled: true,
  ...(health && { health })
})
const counts = { tool_count: 3, prompt_count: 0, resource_count: 0, skill_count: 0 }

test('servers are listed with their status, tools, calls and p95; an older gateway’s without', () => {
  const rows = [
    server('bad', {
      status: 'failing',
      last_error: 'no answer',
      ...counts,
      calls_24h: { calls: 9, failed: 9, p95_ms: 12.4 }
    }),
    server('old')
  ]
  const plain = listView('server', rows).table(undefined, (_colour, text) => text)
  assert.equal(
    plain,
    'NAME  STATUS   TOOLS  CALLS  P95    TARGET\nbad   failing  3      9      12 ms  npx\nold   unknown                       npx'
  )
})

test('colours do not move columns, and are off without a terminal, with NO_COLOR and with --no-color', () => {
  const paint = (env: Record<string, string>, color: boolean, isTTY: boolean) =>
    createPainter({ env }, { color }, { isTTY })('red', 'x')
  assert.notEqual(paint({}, true, true), 'x')
  for (const off of [paint({ NO_COLOR: '1' }, true, true), paint({}, false, true), paint({}, true, false)])
    assert.equal(off, 'x')
  const rows = [server('a', { status: 'failing', ...counts }), server('b', { status: 'sign_in_needed', ...counts })]
  const view = rowsView(COLUMNS.server, rows, ({ name }) => name)
  const plain = view.table(60, (_colour, text) => text)
  const painted = view.table(60, createPainter({ env: {} }, {}, { isTTY: true }))
  assert.notEqual(painted, plain)
  assert.equal(
    stripVTControlCharacters(painted)
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n'),
    plain
  )
})

test('a moment is a span before now or an ISO 8601 time', () => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  assert.equal(momentOf('90s', '--since', now), '2026-01-01T23:58:30.000Z')
  assert.equal(momentOf('1d', '--since', now), '2026-01-01T00:00:00.000Z')
  assert.equal(momentOf('2026-01-01T10:00:00+02:00', '--since', now), '2026-01-01T08:00:00.000Z')
  assert.equal(momentOf(undefined, '--since'), undefined)
  for (const text of ['', '1w', 'soon', '-1h']) assert.throws(() => momentOf(text, '--since'), /--since accepts/)
  assert.match(localTime('2026-01-01T10:00:00.000Z'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  assert.equal(localTime('never'), 'never')
})

test('the spinner says what is waited for, and leaves an empty line', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let written = ''
  const stderr = { isTTY: true, write: (text: string) => (written += text) }
  const spin = createSpinner({ env: {}, stderr } as unknown as CliIo, {})
  let done = () => {}
  const work = spin(new Promise<void>((resolve) => (done = resolve)), 'starting npx')
  t.mock.timers.tick(300)
  assert.match(written, /\r. starting npx/)
  done()
  await work
  assert.match(written, /\r +\r$/)
})

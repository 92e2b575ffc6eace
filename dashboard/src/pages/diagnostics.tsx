import { useSignal } from '@preact/signals'
import type { Check } from '../../../src/schemas/check.ts'
import type { Diagnostics as DiagnosticsData } from '../../../src/schemas/dashboard/diagnostics.ts'
import { change, path } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { AttentionList } from '../servers/attention.tsx'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Chevron } from '../ui/icons.tsx'
import { KeyValues, Row } from '../ui/key-values.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, Pending } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { CheckState, Status } from '../ui/status.tsx'
import { Ago } from '../ui/time.tsx'
import { bytes, count, duration, plural, sentence } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { runConcurrently } from '../concurrency.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { isPending } from '../store.ts'

/** Title of a check, linked to the server's page. */
const CheckTitle = ({ id, title }: Pick<Check, 'id' | 'title'>) => {
  const server = /^(?:server|command|left_out|starts):(.+)$/.exec(id)?.[1]
  return server ? (
    <a class="plain" data-row href={link('server', server)}>
      <UntrustedText text={title} />
    </a>
  ) : (
    <UntrustedText text={title} />
  )
}

const severity: Readonly<Record<Check['status'], number>> = { fail: 0, warn: 1, pass: 2 }

const columns: readonly Column<Check>[] = [
  { key: 'check', label: 'Check', value: ({ title }) => title, cell: (check) => <CheckTitle {...check} /> },
  {
    key: 'state',
    label: 'State',
    value: ({ status }) => severity[status],
    cell: ({ status }) => <CheckState status={status} />
  },
  {
    key: 'finding',
    label: 'Finding',
    kind: 'wide wrap',
    value: ({ detail, hint }) => detail ?? hint,
    cell: ({ detail, hint }) => (
      <>
        {detail && <UntrustedText text={sentence(detail)} />}{' '}
        {hint && (
          <span class="muted">
            <UntrustedText text={sentence(hint)} />
          </span>
        )}
      </>
    )
  },
  { key: 'took', label: 'Took', kind: 'num opt', value: ({ ms }) => ms, cell: ({ ms }) => duration(ms) }
]

const CheckTable = ({ label, member, checks }: { label: string; member: string; checks: readonly Check[] }) => (
  <SortedTable
    label={label}
    kind="checks"
    rows={checks}
    columns={columns}
    keyOf={({ id }) => id}
    member={member}
    opens
  />
)

/** Failed checks in a table, passed ones in one line. */
function Checks({ checks }: { checks: readonly Check[] }) {
  const wrong = checks
    .filter(({ status }) => status !== 'pass')
    .toSorted((a, b) => severity[a.status] - severity[b.status])
  const passed = checks.filter(({ status }) => status === 'pass')
  return (
    <>
      {wrong.length > 0 && <CheckTable label="Failed checks and warnings" member="sort" checks={wrong} />}
      {passed.length > 0 && (
        <details class="json passed">
          <summary>
            <Chevron />
            <Status tone="ok" word={`${plural(passed.length, 'check passed', 'checks passed')}`} />
          </summary>
          <CheckTable label="Passed checks" member="passed" checks={passed} />
        </details>
      )}
    </>
  )
}

const Facts = ({ data }: { data: DiagnosticsData }) => (
  <KeyValues columns={2}>
    <Row label="Version">{data.version}</Row>
    <Row label="Node.js">{data.node_version}</Row>
    <Row label="Started">
      <Ago at={data.started_at} />
    </Row>
    <Row label="Database">{data.database}</Row>
    <Row label="Transports">{data.enabled_transports.join(', ')}</Row>
    <Row label="Endpoint">
      <code>{data.primary_endpoint}</code>
    </Row>
    {data.metrics_endpoint && (
      <Row label="Metrics">
        <code>{data.metrics_endpoint}</code>
      </Row>
    )}
  </KeyValues>
)

const limitText = ({ value, unit }: DiagnosticsData['limits'][number]): string => {
  if (unit === 'ms') return duration(value)
  return unit === 'bytes' ? bytes(value) : count(value)
}

const Limits = ({ limits }: { limits: DiagnosticsData['limits'] }) => (
  <KeyValues columns={2}>
    {limits.map((limit) => (
      <Row key={limit.name} label={<code title={limit.about}>{limit.variable}</code>}>
        <span class="num" title={[count(limit.value), limit.unit].join(' ')}>
          {limitText(limit)}
        </span>
      </Row>
    ))}
  </KeyValues>
)

/** Servers tested at a time, a process each. */
const CONCURRENCY = 3

/** Button that contacts every enabled server now; the checks report the last contact. */
function TestServers() {
  const { store, notice } = useApp()
  const busy = useSignal(false)
  const resource = useSource(sources.servers)
  const servers = resource.data.value?.servers.filter(({ enabled }) => enabled) ?? []
  const test = async () => {
    busy.value = true
    // the checks show the result of each test
    await runConcurrently(servers, CONCURRENCY, async ({ name }) => {
      await change('POST', path('servers', name, 'test')).catch(() => {})
    })
    await store.refresh(new Set(['servers']))
    busy.value = false
    notice.value = 'The servers are tested'
  }
  const isUnknown = isPending(resource)
  if (servers.length === 0 && !isUnknown) return null
  return (
    <button type="button" class="btn" disabled={busy.value || isUnknown} onClick={() => void test()}>
      {busy.value ? 'Testing…' : 'Test servers'}
    </button>
  )
}

const summary = (checks: readonly Check[]): string => {
  const failed = checks.filter(({ status }) => status === 'fail').length
  const warned = checks.filter(({ status }) => status === 'warn').length
  if (failed === 0 && warned === 0) return `All ${plural(checks.length, 'check')} passed.`
  return [failed > 0 && plural(failed, 'check failed', 'checks failed'), warned > 0 && plural(warned, 'warning')]
    .filter(Boolean)
    .join(', ')
}

export function Diagnostics(_props: PageProps) {
  const resource = useSource(sources.diagnostics)
  const overview = useSource(sources.overview)
  const { loading, load, data } = resource
  // failing servers have checks of their own
  const others = overview.data.value?.attention.filter(
    ({ kind }) => kind !== 'server_failing' && kind !== 'sign_in_needed'
  )
  return (
    <>
      <PageHead
        title="Diagnostics"
        sub={<span role="status">{data.value ? summary(data.value.checks) : 'Checking…'}</span>}
      >
        <CopyButton text={data.value && JSON.stringify(data.value, null, 2)}>Copy report</CopyButton>
        <TestServers />
        <button type="button" class="btn" disabled={loading.value} onClick={() => void load()}>
          {loading.value ? 'Checking…' : 'Check again'}
        </button>
      </PageHead>
      <AsyncContent resource={resource} subject="The checks" rows={8}>
        {(found) => (
          <>
            <Checks checks={found.checks} />
            {isPending(overview) && <Pending />}
            {others !== undefined && others.length > 0 && (
              <section class="panel below" aria-label="Needs attention">
                <h2>Needs attention</h2>
                <AttentionList items={others} />
              </section>
            )}
            <section class="panel below" aria-label="This gateway">
              <h2>This gateway</h2>
              <Facts data={found} />
            </section>
            <section class="panel below" aria-label="Limits in force">
              <h2>Limits in force</h2>
              <Limits limits={found.limits} />
            </section>
          </>
        )}
      </AsyncContent>
    </>
  )
}

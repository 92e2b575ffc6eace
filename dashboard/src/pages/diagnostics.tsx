import type { Check, Diagnostics as DiagnosticsData } from '../../../src/schemas/dashboard/diagnostics.ts'
import { useSource } from '../app-context.ts'
import { AttentionList } from '../components/attention.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Loaded } from '../components/panels.tsx'
import { Shown } from '../components/shown.tsx'
import { CheckState } from '../components/status.tsx'
import { Table } from '../components/table.tsx'
import { Ago } from '../components/time.tsx'
import { count, duration, plural, sentence } from '../format.ts'
import type { PageProps } from '../pages.ts'
import * as sources from '../sources.ts'

const Checks = ({ checks }: { checks: readonly Check[] }) => (
  <Table label="Checks">
    <thead>
      <tr>
        <th scope="col">Check</th>
        <th scope="col">State</th>
        <th scope="col" class="wide">
          Finding
        </th>
        <th scope="col" class="num opt">
          Took
        </th>
      </tr>
    </thead>
    <tbody>
      {checks.map(({ id, status, title, detail, hint, ms }) => (
        <tr key={id}>
          <th scope="row">
            <Shown text={title} />
          </th>
          <td>
            <CheckState status={status} />
          </td>
          <td class="wrap">
            {detail && <Shown text={sentence(detail)} />}{' '}
            {hint && (
              <span class="muted">
                <Shown text={sentence(hint)} />
              </span>
            )}
          </td>
          <td class="num opt">{duration(ms)}</td>
        </tr>
      ))}
    </tbody>
  </Table>
)

const Facts = ({ data }: { data: DiagnosticsData }) => (
  <dl class="kv">
    <div>
      <dt>Version</dt>
      <dd>{data.version}</dd>
    </div>
    <div>
      <dt>Node.js</dt>
      <dd>{data.node_version}</dd>
    </div>
    <div>
      <dt>Started</dt>
      <dd>
        <Ago at={data.started_at} />
      </dd>
    </div>
    <div>
      <dt>Database</dt>
      <dd>{data.database}</dd>
    </div>
    <div>
      <dt>Transports</dt>
      <dd>{data.enabled_transports.join(', ')}</dd>
    </div>
    <div>
      <dt>Endpoint</dt>
      <dd>
        <code>{data.primary_endpoint}</code>
      </dd>
    </div>
    {data.metrics_endpoint && (
      <div>
        <dt>Metrics</dt>
        <dd>
          <code>{data.metrics_endpoint}</code>
        </dd>
      </div>
    )}
  </dl>
)

const Limits = ({ limits }: { limits: DiagnosticsData['limits'] }) => (
  <dl class="kv">
    {limits.map(({ name, value, unit }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          {count(value)}
          {unit && ` ${unit}`}
        </dd>
      </div>
    ))}
  </dl>
)

const summary = (checks: readonly Check[]): string => {
  const failed = checks.filter(({ status }) => status === 'fail').length
  const warned = checks.filter(({ status }) => status === 'warn').length
  if (failed === 0 && warned === 0) return `All ${plural(checks.length, 'check')} pass.`
  return [failed > 0 && plural(failed, 'check fails', 'checks fail'), warned > 0 && plural(warned, 'warning')]
    .filter(Boolean)
    .join(', ')
}

export function Diagnostics(_props: PageProps) {
  const resource = useSource(sources.diagnostics)
  const overview = useSource(sources.overview).data.value
  const { loading, load, data } = resource
  return (
    <>
      <PageHead title="Diagnostics" sub={<span role="status">{data.value && summary(data.value.checks)}</span>}>
        {data.value && <CopyButton text={JSON.stringify(data.value, null, 2)}>Copy report</CopyButton>}
        <button type="button" class="btn" disabled={loading.value} onClick={() => void load()}>
          {loading.value ? 'Checking…' : 'Check again'}
        </button>
      </PageHead>
      <Loaded resource={resource} what="The checks" rows={8}>
        {(found) => (
          <>
            <Checks checks={found.checks} />
            {overview && overview.attention_count > 0 && (
              <section class="panel below" aria-label="Needs attention">
                <h2>Needs attention</h2>
                <AttentionList items={overview.attention} />
              </section>
            )}
            <div class="split even">
              <section class="panel" aria-label="This gateway">
                <h2>This gateway</h2>
                <Facts data={found} />
              </section>
              <section class="panel" aria-label="Limits in force">
                <h2>Limits in force</h2>
                <Limits limits={found.limits} />
              </section>
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

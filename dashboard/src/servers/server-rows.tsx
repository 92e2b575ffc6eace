import { useRef } from 'preact/hooks'
import type { ServerView } from '../../../src/schemas/dashboard/servers.ts'
import { useRights } from '../app-context.ts'
import { startCostText } from '../../../src/domain/start-cost.ts'
import { count, duration, percent, sentence } from '../format.ts'
import { link } from '../router.ts'
import { needsAttention, targetOf } from './server-state.ts'
import { CauseText } from '../calls/cause-text.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { openRow } from '../ui/open-row.ts'
import { ServerState } from '../ui/status.tsx'
import { Strip } from '../ui/strip.tsx'
import { Switch } from '../ui/switch.tsx'
import { TestButton } from './test-button.tsx'

/** Share of failed calls from which the row shows it in red. */
const MANY_FAILED = 0.05

interface ServerRowsProps {
  readonly server: ServerView
  readonly onSwitch: (name: string, enabled: boolean) => Promise<unknown>
}

function FailedShare({ calls, failed }: { calls: number; failed: number }) {
  const text = percent(failed, calls)
  return failed > calls * MANY_FAILED ? <span class="tag err">{text}</span> : <>{text}</>
}

/** Reason why a server fails or waits, with actions to fix it. */
function Cause({ server }: { server: ServerView }) {
  const { name, status } = server
  const { administer } = useRights()
  return (
    <tr class={`detail ${status === 'failing' ? '' : 'mild'}`}>
      <td colSpan={9}>
        <div class="diag">
          <CauseText server={server} />
          {administer && (
            <div class="actions">
              {server.transport === 'stdio' && (
                <a class="btn" href={link('server', name, { tab: 'log' })}>
                  View stderr
                </a>
              )}
              <a
                class={`btn ${status === 'failing' ? '' : 'primary'}`}
                href={link('server', name, { tab: 'settings' })}
              >
                {status === 'failing' ? 'Edit settings' : 'Sign in'}
              </a>
              {status === 'failing' && <TestButton name={name} primary />}
            </div>
          )}
        </div>
      </td>
    </tr>
  )
}

/** Row of the table of servers; a failing server has a second row with the cause. */
export function ServerRows({ server, onSwitch }: ServerRowsProps) {
  const { name, status, transport, enabled, tool_count: tools, prompt_count: prompts, stats_24h: stats } = server
  const { start_cost: cost } = server
  const { audit } = useRights()
  const isKnown = server.last_discovered_at !== undefined || tools > 0
  const isBad = needsAttention(server)
  const target = targetOf(server.config_summary)
  // a connection test passes through "connecting"; the cause and the test's progress stay visible
  const cause = useRef<ServerView | undefined>(undefined)
  if (isBad) cause.current = server
  else if (status !== 'connecting') cause.current = undefined
  return (
    <>
      <tr class="opens" onClick={openRow}>
        <th scope="row">
          <a class="name" data-row href={link('server', name)}>
            <UntrustedText text={name} />
          </a>
          <span class="ep lines" title={target || undefined}>
            <UntrustedText text={target} />
          </span>
        </th>
        <td>
          <ServerState status={status} />
          {cost && (
            <span class="tag warn mark" title={sentence(startCostText(transport, cost))}>
              slow starts
            </span>
          )}
        </td>
        <td class="opt opt0">
          <span class="tag">{transport}</span>
        </td>
        <td class="num opt2">
          {isKnown ? count(tools) : '—'}
          {prompts > 0 && <span class="muted"> / {count(prompts)}</span>}
        </td>
        {audit && (
          <>
            <td class="opt">{stats ? <Strip buckets={stats.half_hours} period="the last 24 hours" /> : '—'}</td>
            <td class="num opt1 opt2">{count(stats?.calls)}</td>
            <td class="num opt">{duration(stats?.p95_ms)}</td>
            <td class="num opt2">{stats ? <FailedShare {...stats} /> : '—'}</td>
            <td>
              <Switch name={name} checked={enabled} onSwitch={(next) => onSwitch(name, next)} />
            </td>
          </>
        )}
      </tr>
      {audit && cause.current && <Cause server={cause.current} />}
    </>
  )
}

import type { ServerView } from '../../../src/schemas/dashboard/servers.ts'
import { plural, sentence } from '../format.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Ago } from '../ui/time.tsx'

type FailingServer = Pick<
  ServerView,
  'status' | 'status_since' | 'last_error' | 'last_stderr' | 'summary' | 'next_step' | 'stats_24h'
>

/** Reason why a server fails or waits, with the line of its stderr that says why, the next step, and the time since then. */
export const CauseText = ({ server }: { server: FailingServer }) => {
  const {
    status,
    status_since: since,
    last_error: error,
    last_stderr: line,
    summary,
    next_step: next,
    stats_24h: stats
  } = server
  return (
    <p>
      {status === 'failing' ? (
        <strong>
          <UntrustedText text={sentence(error ?? 'The last contact failed')} />
        </strong>
      ) : (
        <>Sign in to use this server.</>
      )}{' '}
      {line && !error?.includes(line) && (
        <>
          On stderr:{' '}
          <code>
            <UntrustedText text={line} />
          </code>
          .{' '}
        </>
      )}
      {status === 'failing' && next && (
        <>
          {summary} {next}{' '}
        </>
      )}
      {since && (
        <>
          Since <Ago at={since} />
          {stats && stats.failed > 0 && `, ${plural(stats.failed, 'call')} failed in 24 h`}.
        </>
      )}
    </p>
  )
}

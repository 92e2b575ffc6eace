import type { ServerView } from '../../../src/schemas/dashboard/servers.ts'
import { plural, sentence } from '../format.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Ago } from '../ui/time.tsx'

type FailingServer = Pick<ServerView, 'status' | 'status_since' | 'last_error' | 'last_stderr' | 'stats_24h'>

/** Reason why a server fails or waits, with the last line of its stderr and the time since then. */
export const CauseText = ({ server }: { server: FailingServer }) => {
  const { status, status_since: since, last_error: error, last_stderr: line, stats_24h: stats } = server
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
          Last stderr line:{' '}
          <code>
            <UntrustedText text={line} />
          </code>
          .{' '}
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

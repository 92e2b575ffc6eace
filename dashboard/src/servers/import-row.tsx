import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ImportedServer } from '../../../src/schemas/dashboard/import.ts'
import { duration, plural, sentence } from '../format.ts'
import { link } from '../router.ts'
import { targetOf } from './server-state.ts'
import type { Progress } from './use-import.ts'
import { FailureDetails } from '../ui/failure-details.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Status } from '../ui/status.tsx'

const target = ({ config_summary: config }: ImportedServer): string => (config ? targetOf(config) : '')

type Result = NonNullable<ImportedServer['result']>

const found = (word: string, { tool_count }: Result): string =>
  tool_count === undefined ? word : `${word}, ${plural(tool_count, 'tool')}`

/** Elapsed time while a server connects and lists its items: up to a minute, and a static page would look frozen. */
function ConnectingTime({ since }: { since: number }) {
  const now = useSignal(since)
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [now])
  const ms = now.value - since
  return (
    <>
      <Status tone="warn" word="Connecting" />
      {ms >= 1_000 && <span class="muted num"> {duration(ms)}</span>}
    </>
  )
}

function ResultState({ result }: { result: Result }) {
  const states: Readonly<Record<Result['outcome'], preact.ComponentChildren>> = {
    added: <Status tone="ok" word={found('Added', result)} />,
    replaced: <Status tone="ok" word={found('Replaced', result)} />,
    sign_in_needed: <Status tone="warn" word="Sign-in needed" />,
    failed: <Status tone="err" word="Failed" />,
    skipped: <Status tone="off" word="Skipped" />
  }
  return (
    <>
      {states[result.outcome]}
      {result.error && (
        <span class="err blk">
          <UntrustedText text={sentence(result.error)} />
        </span>
      )}
      <FailureDetails details={result} />
      {result.tools && result.tools.length > 0 && (
        <span class="help blk">
          <UntrustedText text={result.tools.slice(0, 8).join(', ')} />
          {result.tools.length > 8 && ' …'}
        </span>
      )}
    </>
  )
}

const Notes = ({ server: { problems, notes, ignored, exists } }: { server: ImportedServer }) => (
  <>
    {problems.map((problem) => (
      <span class="err blk" key={problem}>
        <UntrustedText text={sentence(problem)} />
      </span>
    ))}
    {exists && <span class="help blk">A server with this name exists; select it to replace it.</span>}
    {notes.map((note) => (
      <span class="help blk" key={note}>
        <UntrustedText text={sentence(note)} />
      </span>
    ))}
    {ignored.length > 0 && (
      <span class="help blk">
        Ignored: <UntrustedText text={ignored.join(', ')} />
      </span>
    )}
  </>
)

const isFinished = ({ result }: ImportedServer): boolean =>
  result?.outcome === 'added' || result?.outcome === 'replaced'

function ImportState({ server, progress }: Pick<ImportRowProps, 'server' | 'progress'>) {
  if (progress?.state === 'connecting') return <ConnectingTime since={progress.since} />
  if (progress) return <Status tone="off" word="Waiting" />
  return server.result ? <ResultState result={server.result} /> : <Notes server={server} />
}

interface ImportRowProps {
  readonly server: ImportedServer
  readonly chosen: boolean
  /** Progress while the server is being added. */
  readonly progress: Progress | undefined
  readonly onChoose: (chosen: boolean) => void
}

/** Row of a server in the pasted configuration: its parsed entry, then its progress and result. */
export const ImportRow = ({ server, chosen, progress, onChoose }: ImportRowProps) => (
  <tr>
    <td>
      <label class="hit">
        <input
          type="checkbox"
          class="cb"
          aria-label={`Add ${server.name}`}
          disabled={server.problems.length > 0 || progress !== undefined || isFinished(server)}
          checked={chosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      </label>
    </td>
    <th scope="row">
      {isFinished(server) ? (
        <a class="name" href={link('server', server.name)}>
          {server.name}
        </a>
      ) : (
        <span class="name">{server.name}</span>
      )}
    </th>
    <td class="opt2">{server.transport && <span class="tag">{server.transport}</span>}</td>
    <td class="opt">
      <span class="ep lines" title={target(server)}>
        <UntrustedText text={target(server)} />
      </span>
    </td>
    <td class="wrap">
      <ImportState server={server} progress={progress} />
    </td>
  </tr>
)

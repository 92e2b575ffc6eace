import type { ImportedServer } from '../../../src/schemas/dashboard/import.ts'
import { plural, sentence } from '../format.ts'
import { link } from '../router.ts'
import { Shown } from './shown.tsx'
import { Status } from './status.tsx'

const target = ({ config_summary: config }: ImportedServer): string =>
  config?.target ??
  [config?.command, config?.argument_count ? `(${plural(config.argument_count, 'argument')})` : '']
    .filter(Boolean)
    .join(' ')

type Result = NonNullable<ImportedServer['result']>

function ResultState({ server, busy }: { server: ImportedServer; busy: boolean }) {
  if (busy) return <Status tone="warn" word="Connecting" />
  const { result } = server
  if (result === undefined) return null
  const states: Readonly<Record<Result['outcome'], preact.ComponentChildren>> = {
    added: <Status tone="ok" word={`Added, ${plural(result.tool_count ?? 0, 'tool')}`} />,
    replaced: <Status tone="ok" word={`Replaced, ${plural(result.tool_count ?? 0, 'tool')}`} />,
    sign_in_needed: <Status tone="warn" word="Sign-in needed" />,
    failed: <Status tone="err" word="Failed" />,
    skipped: <Status tone="off" word="Skipped" />
  }
  return (
    <>
      {states[result.outcome]}
      {result.error && (
        <span class="err blk">
          <Shown text={sentence(result.error)} />
        </span>
      )}
      {result.tools && result.tools.length > 0 && (
        <span class="help blk">
          <Shown text={result.tools.slice(0, 8).join(', ')} />
          {result.tools.length > 8 && ' …'}
        </span>
      )}
    </>
  )
}

const Remarks = ({ server: { problems, notes, ignored, exists } }: { server: ImportedServer }) => (
  <>
    {problems.map((problem) => (
      <span class="err blk" key={problem}>
        <Shown text={sentence(problem)} />
      </span>
    ))}
    {exists && <span class="help blk">A server of this name is registered.</span>}
    {notes.map((note) => (
      <span class="help blk" key={note}>
        <Shown text={sentence(note)} />
      </span>
    ))}
    {ignored.length > 0 && (
      <span class="help blk">
        Ignored: <Shown text={ignored.join(', ')} />
      </span>
    )}
  </>
)

interface ImportRowProps {
  readonly server: ImportedServer
  readonly chosen: boolean
  readonly busy: boolean
  readonly onChoose: (chosen: boolean) => void
}

/** A server of the configuration: what was made of it, then what became of it. */
export const ImportRow = ({ server, chosen, busy, onChoose }: ImportRowProps) => (
  <tr>
    <td>
      <label class="hit">
        <input
          type="checkbox"
          class="cb"
          aria-label={`Add ${server.name}`}
          disabled={server.problems.length > 0 || server.result?.outcome === 'added'}
          checked={chosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      </label>
    </td>
    <th scope="row">
      {server.result?.outcome === 'added' || server.result?.outcome === 'replaced' ? (
        <a class="name" href={link('server', server.name)}>
          {server.name}
        </a>
      ) : (
        <span class="name">{server.name}</span>
      )}
    </th>
    <td class="opt2">{server.transport && <span class="tag">{server.transport}</span>}</td>
    <td class="opt">
      <span class="ep" title={target(server)}>
        <Shown text={target(server)} />
      </span>
    </td>
    <td class="wrap">
      {server.result || busy ? <ResultState server={server} busy={busy} /> : <Remarks server={server} />}
    </td>
  </tr>
)

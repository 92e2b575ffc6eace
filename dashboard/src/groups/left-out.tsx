import { useSignal } from '@preact/signals'
import type { LeftOutTool, ToolGroupPreview } from '../../../src/schemas/dashboard/tool-groups.ts'
import { QualifiedName } from '../ui/untrusted-text.tsx'
import { count } from '../format.ts'
import { link } from '../router.ts'
import { selectionOf, type Draft } from './draft.ts'

const PAGE = 200

const tags: Readonly<Record<LeftOutTool['reason'], readonly [word: string, kind: string]>> = {
  excluded: ['excluded', 'warn'],
  disabled: ['disabled', ''],
  server_disabled: ['server disabled', ''],
  unusable: ['unusable', 'err'],
  missing: ['missing', 'err'],
  withheld: ['withheld', 'err']
}

interface LeftOutProps {
  readonly preview: ToolGroupPreview
  readonly draft: Draft
  readonly saved: Draft
  /** Names of the registered servers. */
  readonly servers: ReadonlySet<string>
  readonly onDrop: (name: string) => void
}

/** Tools that the lists include but the group does not serve, each with the reason and a fix. */
export function LeftOut({ preview, draft, saved, servers, onDrop }: LeftOutProps) {
  const shown = useSignal(PAGE)
  const before = selectionOf(saved)
  const now = selectionOf(draft)
  const told = new Set(preview.left_out.map(({ name }) => name))
  const gone = preview.missing.filter((name) => !told.has(name))
  const all: readonly LeftOutTool[] = [
    ...preview.left_out,
    ...gone.map((name) => ({ name, reason: 'missing' as const }))
  ]
  if (all.length === 0) return null
  const isNew = ({ name, reason }: LeftOutTool) =>
    reason === 'excluded' && before.includesTool(serverOf(name), name) && !now.includesTool(serverOf(name), name)
  return (
    <>
      <h3 class="sec">
        Left out <span class="muted">{count(all.length)}</span>
      </h3>
      <table class="slim">
        <thead class="vh">
          <tr>
            <th scope="col">Tool</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, shown.value).map((each) => (
            <Row key={each.name} tool={each} isNew={isNew(each)} servers={servers} onDrop={onDrop} />
          ))}
        </tbody>
      </table>
      {all.length > shown.value && (
        <button type="button" class="btn quiet sm" onClick={() => (shown.value += PAGE)}>
          Show {count(Math.min(PAGE, all.length - shown.value))} more
        </button>
      )}
    </>
  )
}

const serverOf = (name: string): string => name.split('__', 1)[0]!

interface RowProps {
  readonly tool: LeftOutTool
  /** True if an unsaved change causes it. */
  readonly isNew: boolean
  readonly servers: ReadonlySet<string>
  readonly onDrop: (name: string) => void
}

function Row({ tool, isNew, servers, onDrop }: RowProps) {
  const { name, reason } = tool
  const [word, kind] = tags[reason]
  const note = isNew ? 'not saved yet' : noteOf(tool, servers)
  return (
    <tr>
      <th scope="row">
        <QualifiedName name={name} />
        {note && <span class="help blk">{note}</span>}
      </th>
      <td>
        <div class="actions nowrap right">
          {reason === 'missing' && (
            <button type="button" class="btn quiet sm" aria-label={`Drop ${name}`} onClick={() => onDrop(name)}>
              Drop
            </button>
          )}
          <span class={`tag ${kind}`}>{word}</span>
        </div>
      </td>
    </tr>
  )
}

function noteOf({ name, reason }: LeftOutTool, servers: ReadonlySet<string>): preact.ComponentChildren {
  const server = serverOf(name)
  switch (reason) {
    case 'excluded':
      return undefined
    case 'disabled':
      return <a href={link('tool', name)}>Enable it on Tools</a>
    case 'server_disabled':
      return <a href={link('server', server)}>Enable {server}</a>
    case 'unusable':
      return <a href={link('tool', name)}>The gateway cannot serve it</a>
    case 'withheld':
      return 'The override of this tool, or of another with its name, keeps it back'
    case 'missing':
      return servers.has(server) && server !== name
        ? `${server} does not offer this tool now. Kept in case it returns`
        : `Server ${server} is not registered. Kept in case it returns`
  }
}

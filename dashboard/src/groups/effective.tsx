import { useSignal } from '@preact/signals'
import type { GroupTool, ToolGroupPreview } from '../../../src/schemas/dashboard/tool-groups.ts'
import { useApp } from '../app-context.ts'
import { Chevron } from '../ui/icons.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { ErrorPanel } from '../ui/panels.tsx'
import { Breakable, QualifiedName } from '../ui/untrusted-text.tsx'
import { tokensByServer } from './tokens.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { count } from '../format.ts'
import { groupInput, type Draft } from './draft.ts'
import { LeftOut } from './left-out.tsx'
import type { Preview } from './use-preview.ts'
import { TableHead } from '../ui/table-head.tsx'

/** Number of tools from which the page warns: some clients cut off longer lists (a limit of 50 was seen). */
const MANY = 40
/** Tokens from which the page suggests search mode. */
const MANY_TOKENS = 8_000
const PAGE = 200

interface EffectiveProps {
  readonly preview: Preview
  readonly draft: Draft
  readonly saved: Draft
  /** Names of the registered servers. */
  readonly servers: ReadonlySet<string>
  /** Number of tools that the saved group serves; undefined if it is not saved. */
  readonly savedCount: number | undefined
  readonly onDrop: (name: string) => void
  /** Opens the override of a tool. */
  readonly onEdit: (name: string) => void
}

/** Effective tools of the draft. */
export function Effective({ preview, draft, saved, servers, savedCount, onDrop, onEdit }: EffectiveProps) {
  const { store } = useApp()
  const { data, error, isStale } = preview
  return (
    <section class="panel flush" aria-labelledby="effective">
      <div class="phead">
        <div class="row">
          <h2 id="effective">What agents get</h2>
          {!error.value && store.reachable.value && <span class={isStale.value ? 'tag' : 'tag ok'}>live</span>}
        </div>
        {error.value && <ErrorPanel title="The preview could not be loaded." error={error.value} />}
        {data.value && (
          <Figures
            preview={data.value}
            savedCount={savedCount}
            limit={Number(draft.max_tokens)}
            isSearching={draft.tool_list === 'search'}
          />
        )}
        {data.value?.problem && (
          <p class="help err" role="alert">
            {data.value.problem}
          </p>
        )}
      </div>
      {data.value && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Effective tools">
          <ServedTools tools={data.value.tools} onEdit={onEdit} />
          <LeftOut preview={data.value} draft={draft} saved={saved} servers={servers} onDrop={onDrop} />
        </div>
      )}
      <AsJson draft={draft} />
    </section>
  )
}

/** Suggests search mode where it pays, or says what the list costs in search mode. */
function ListAdvice({ preview, isSearching }: { readonly preview: ToolGroupPreview; readonly isSearching: boolean }) {
  const { tool_count, tokens, list_tokens, search_tokens } = preview
  if (isSearching) {
    return (
      <p class="help">
        Search mode: agents get a list of ~{count(list_tokens)} tokens, and find {count(tool_count)} tools.
      </p>
    )
  }
  if (tool_count <= MANY && tokens <= MANY_TOKENS) return null
  return (
    <p class="help warn">
      {count(tool_count)} tools with ~{count(tokens)} tokens: some clients truncate the list, and agents choose less
      reliably from a long one. In search mode the list has ~{count(search_tokens)} tokens.
    </p>
  )
}

interface FiguresProps {
  readonly preview: ToolGroupPreview
  readonly savedCount: number | undefined
  /** Limit of tokens; 0 or no number for none. */
  readonly limit: number
  readonly isSearching: boolean
}

function Figures({ preview, savedCount, limit, isSearching }: FiguresProps) {
  const { tool_count, tokens, tokens_before, list_tokens, total_tokens } = preview
  const share = total_tokens === 0 ? 0 : Math.round((tokens / total_tokens) * 100)
  return (
    <>
      <dl class="facts in-panel" aria-live="polite">
        <div>
          <dt>Tools</dt>
          <dd>
            {count(tool_count)}
            {savedCount !== undefined && savedCount !== tool_count && <small>was {count(savedCount)}</small>}
          </dd>
        </div>
        <div>
          <dt>Definition tokens</dt>
          <dd>
            ~{count(tokens)}
            {tokens !== tokens_before && <small>~{count(tokens_before)} without changes</small>}
          </dd>
        </div>
        <div>
          <dt>Of the full set</dt>
          <dd>
            {share}%<small>of ~{count(total_tokens)}</small>
          </dd>
        </div>
      </dl>
      <svg
        class="meter"
        width="100%"
        height="6"
        role="img"
        aria-label={`${share} percent of the full tool set's tokens`}
      >
        <rect class="bgm" width="100%" height="6" rx="3" />
        <rect width={`${share}%`} height="6" rx="3" />
      </svg>
      {limit > 0 && list_tokens > limit && (
        <p class="help err" role="alert">
          More than the limit of {count(limit)} tokens: the group cannot be saved.
        </p>
      )}
      <ByServer tools={preview.tools} />
      <ListAdvice preview={preview} isSearching={isSearching} />
    </>
  )
}

/** Tokens of each server; nothing for a single one. */
function ByServer({ tools }: { tools: readonly GroupTool[] }) {
  const servers = tokensByServer(tools)
  if (servers.length < 2) return null
  return (
    <ul class="bysrv" aria-label="Tokens by server">
      {servers.map(({ server, tokens, before }) => (
        <li key={server}>
          {server} <Tokens tokens={tokens} before={before} />
        </li>
      ))}
    </ul>
  )
}

/** Estimated tokens, with those before the group's changes if they differ. */
const Tokens = ({ tokens, before }: { tokens: number; before: number }) => (
  <span class="num muted">
    {tokens !== before && <s aria-label={`~${count(before)} before`}>~{count(before)}</s>} ~{count(tokens)}
  </span>
)

interface ServedToolsProps {
  readonly tools: readonly GroupTool[]
  /** Absent for viewers who may not change the group. */
  readonly onEdit?: (name: string) => void
}

/** Tools of a group, each with the reason why it is in it. */
export function ServedTools({ tools, onEdit }: ServedToolsProps) {
  const shown = useSignal(PAGE)
  if (tools.length === 0) return <p class="nothing">Agents see no tools on this endpoint.</p>
  return (
    <>
      <table class="slim">
        <TableHead columns={['Tool', 'Why', ['Tokens', 'num'], ...(onEdit ? [['Change', 'hidden'] as const] : [])]} />
        <tbody>
          {tools.slice(0, shown.value).map((tool) => (
            <ServedTool key={tool.name} tool={tool} onEdit={onEdit} />
          ))}
        </tbody>
      </table>
      {tools.length > shown.value && (
        <button type="button" class="btn quiet sm" onClick={() => (shown.value += PAGE)}>
          Show {count(Math.min(PAGE, tools.length - shown.value))} more
        </button>
      )}
    </>
  )
}

function ServedTool({ tool, onEdit }: { tool: GroupTool; onEdit: ServedToolsProps['onEdit'] }) {
  const { name, shown_as, reason, tokens, tokens_before } = tool
  return (
    <tr>
      <th scope="row">
        {shown_as !== undefined && (
          <code class="blk">
            <Breakable text={shown_as} />
          </code>
        )}
        <span class={shown_as === undefined ? undefined : 'muted'}>
          <QualifiedName name={name} />
        </span>
      </th>
      <td>{reason === 'server' ? <span class="tag">whole server</span> : <span class="tag pick">picked</span>}</td>
      <td class="num">
        <Tokens tokens={tokens} before={tokens_before} />
      </td>
      {onEdit && (
        <td>
          <button type="button" class="btn quiet sm" aria-label={`Change ${name} here`} onClick={() => onEdit(name)}>
            Change
          </button>
        </td>
      )}
    </tr>
  )
}

function AsJson({ draft }: { draft: Draft }) {
  const isOpen = useSignal(false)
  return (
    <details class="json" open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <Chevron />
        <span>
          As JSON, the file for <code>towpath apply</code>
        </span>
      </summary>
      {isOpen.value && (
        <>
          <JsonView value={groupInput(draft)} label="The group as JSON" />
          <div class="pad">
            <CopyButton kind="sm" text={() => `${JSON.stringify(groupInput(draft), null, 2)}\n`}>
              Copy JSON
            </CopyButton>
          </div>
        </>
      )}
    </details>
  )
}

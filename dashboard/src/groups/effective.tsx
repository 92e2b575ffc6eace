import { useSignal } from '@preact/signals'
import type { GroupTool, ToolGroupPreview } from '../../../src/schemas/dashboard/tool-groups.ts'
import { useApp } from '../app-context.ts'
import { Chevron } from '../ui/icons.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { ErrorPanel } from '../ui/panels.tsx'
import { QualifiedName } from '../ui/untrusted-text.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { count } from '../format.ts'
import { groupInput, type Draft } from './draft.ts'
import { LeftOut } from './left-out.tsx'
import type { Preview } from './use-preview.ts'
import { TableHead } from '../ui/table-head.tsx'

/** Number of tools from which the page warns: some clients cut off longer lists (a limit of 50 was seen). */
const MANY = 40
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
}

/** Effective tools of the draft. */
export function Effective({ preview, draft, saved, servers, savedCount, onDrop }: EffectiveProps) {
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
        {data.value && <Figures preview={data.value} savedCount={savedCount} />}
      </div>
      {data.value && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Effective tools">
          <ServedTools tools={data.value.tools} />
          <LeftOut preview={data.value} draft={draft} saved={saved} servers={servers} onDrop={onDrop} />
        </div>
      )}
      <AsJson draft={draft} />
    </section>
  )
}

function Figures({ preview, savedCount }: { preview: ToolGroupPreview; savedCount: number | undefined }) {
  const { tool_count, tokens, total_tokens } = preview
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
          <dd>~{count(tokens)}</dd>
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
      {tool_count > MANY && (
        <p class="help warn">
          More than {MANY} tools: some clients truncate the list, and agents choose less reliably from a long one.
        </p>
      )}
    </>
  )
}

/** Tools of a group, each with the reason why it is in it. */
export function ServedTools({ tools }: { tools: readonly GroupTool[] }) {
  const shown = useSignal(PAGE)
  if (tools.length === 0) return <p class="nothing">Agents see no tools on this endpoint.</p>
  return (
    <>
      <table class="slim">
        <TableHead columns={['Tool', 'Why', ['Tokens', 'num']]} />
        <tbody>
          {tools.slice(0, shown.value).map(({ name, reason, tokens }) => (
            <tr key={name}>
              <th scope="row">
                <QualifiedName name={name} />
              </th>
              <td>
                {reason === 'server' ? <span class="tag">whole server</span> : <span class="tag pick">picked</span>}
              </td>
              <td class="num">{count(tokens)}</td>
            </tr>
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

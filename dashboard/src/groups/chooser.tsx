import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { useApp } from '../app-context.ts'
import { Chevron } from '../ui/icons.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { Breakable } from '../ui/untrusted-text.tsx'
import { ServerState } from '../ui/status.tsx'
import { count } from '../format.ts'
import { link } from '../router.ts'
import { ItemTags } from '../tools/item-tags.tsx'
import {
  selectionOf,
  isAllPicked,
  toggleServer,
  toggleShown,
  toggleTool,
  type DraftSelection,
  type Draft
} from './draft.ts'
import { showOptions, treeOf, type Branch, type TreeServer, type TreeTool } from './tree.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'

interface ChooserProps {
  readonly servers: readonly TreeServer[]
  readonly tools: readonly ToolView[]
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** Undoes the last step; undefined if there is none. */
  readonly onUndo: (() => void) | undefined
}

/** Tree of servers and tools with checkboxes (dashboard.md#group-builder). */
export function Chooser({ servers, tools, draft, onChange, onUndo }: ChooserProps) {
  const { location } = useApp()
  const { find: q = '', show: wanted } = location.route.value.query
  const show = showOptions.find((each) => each === wanted) ?? 'all'
  const choice = useMemo(() => selectionOf(draft), [draft])
  const branches = treeOf(servers, tools, { q, show }, choice)
  return (
    <section class="panel flush" aria-labelledby="choose">
      <div class="phead">
        <div class="row">
          <h2 id="choose">Choose</h2>
          <button type="button" class="btn quiet sm" disabled={!onUndo} onClick={onUndo}>
            Undo
          </button>
        </div>
        <div class="bar tight">
          <SearchBox
            label="Filter servers and tools"
            placeholder="Filter servers and tools"
            value={q}
            onInput={(find) => location.setQuery({ find })}
          />
          <Segmented
            label="Show"
            options={[
              { id: 'all', label: 'All' },
              { id: 'chosen', label: 'Chosen' },
              { id: 'read-only', label: 'Read-only' }
            ]}
            current={show}
            onSelect={(id) => location.setQuery({ show: id === 'all' ? '' : id })}
          />
        </div>
        <p class="help">
          Check a server to include all its tools, also those it adds later. Uncheck a tool below it to exclude that
          one.
        </p>
      </div>
      {branches.length === 0 ? (
        <p class="nothing" role="status">
          {servers.length > 0 ? (
            'Nothing matches the filter.'
          ) : (
            <>
              There are no servers to choose from yet. <a href={link('new-server')}>Add server</a>
            </>
          )}
        </p>
      ) : (
        <ul class="tree" aria-label="Servers and tools">
          {branches.map((branch) => (
            <ServerBranch
              key={branch.server.name}
              branch={branch}
              draft={draft}
              choice={choice}
              isFiltered={q.trim() !== '' || show !== 'all'}
              onChange={onChange}
            />
          ))}
        </ul>
      )}
    </section>
  )
}

/** Tools of a server shown at first; more on demand. */
const PAGE = 100

interface BranchProps {
  readonly branch: Branch
  readonly draft: Draft
  readonly choice: DraftSelection
  readonly isFiltered: boolean
  readonly onChange: (draft: Draft) => void
}

function ServerBranch({ branch, draft, choice, isFiltered, onChange }: BranchProps) {
  const { server, names, tools } = branch
  const state = choice.stateOf(server.name, names)
  // a partly selected server starts expanded, so that the selection is visible
  const opened = useSignal<boolean | undefined>(state === 'mixed' ? true : undefined)
  const isOpen = opened.value ?? isFiltered
  const hidesSome = tools.length < names.length
  const onServer = () =>
    onChange(
      hidesSome
        ? toggleShown(
            draft,
            tools.map(({ canonical_name }) => ({ server: server.name, name: canonical_name }))
          )
        : toggleServer(draft, server.name, names)
    )
  const label = hidesSome ? `${server.name}, the ${tools.length} shown tools` : `${server.name}, whole server`
  return (
    <li class="sv">
      <div class="svh">
        <input
          type="checkbox"
          class="cb"
          aria-label={label}
          checked={state === 'on'}
          ref={(box) => {
            if (!box) return
            // the draft decides the state; undo the browser's own toggle
            box.checked = state === 'on'
            box.indeterminate = state === 'mixed'
          }}
          onChange={onServer}
        />
        <details open={isOpen} onToggle={(event) => (opened.value = event.currentTarget.open)}>
          <summary data-row>
            <Chevron />
            <strong>{server.name}</strong>
            {choice.includesServer(server.name) && <span class="tag ok">includes new tools</span>}
            {server.status !== 'connected' && server.status !== 'unknown' && <ServerState status={server.status} />}
            <span class="muted num">
              {names.length === 0
                ? 'no tools yet'
                : `${count(choice.countOf(server.name, names))} of ${count(names.length)}`}
            </span>
          </summary>
          {isOpen && <ServerTools branch={branch} draft={draft} choice={choice} onChange={onChange} />}
        </details>
      </div>
    </li>
  )
}

function ServerTools({ branch, draft, choice, onChange }: Omit<BranchProps, 'isFiltered'>) {
  const { server, names, tools } = branch
  const shown = useSignal(PAGE)
  if (names.length === 0) {
    return (
      <p class="help kids">
        {server.status === 'sign_in_needed'
          ? 'Sign in first; its tools are added when it connects.'
          : 'No tools yet; tools that it adds are included.'}
      </p>
    )
  }
  return (
    <>
      {server.status === 'disabled' && <p class="help kids">Nothing is served while the server is disabled.</p>}
      {isAllPicked(draft, server.name, names) && (
        <p class="help kids">
          Tools added later are not included.{' '}
          <button type="button" class="lnk" onClick={() => onChange(toggleServer(draft, server.name, names))}>
            Include new tools
          </button>
        </p>
      )}
      <ul class="kids">
        {tools.slice(0, shown.value).map((tool) => (
          <ToolBox
            key={tool.canonical_name}
            tool={tool}
            isIn={choice.includesTool(server.name, tool.canonical_name)}
            onToggle={() => onChange(toggleTool(draft, server.name, tool.canonical_name))}
          />
        ))}
      </ul>
      {tools.length > shown.value && (
        <button type="button" class="btn quiet sm" onClick={() => (shown.value += PAGE)}>
          Show {count(Math.min(PAGE, tools.length - shown.value))} more
        </button>
      )}
    </>
  )
}

const ToolBox = ({ tool, isIn, onToggle }: { tool: TreeTool; isIn: boolean; onToggle: () => void }) => (
  <li>
    <label class={tool.enabled ? 'tn' : 'tn dim'}>
      <input type="checkbox" class="cb" data-row checked={isIn} onChange={onToggle} />
      <code>
        <Breakable text={tool.name} />
      </code>
      <span class="tags">
        <ItemTags item={tool} isBrief />
      </span>
      <span class="num muted">~{count(tool.tokens)}</span>
    </label>
  </li>
)

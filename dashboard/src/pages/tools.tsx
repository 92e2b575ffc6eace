import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { useRights, useSource } from '../app-context.ts'
import { DemoButton } from '../servers/demo-button.tsx'
import { NothingAllowed } from '../shell/who-can-help.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { EmptyPanel, AsyncContent } from '../ui/panels.tsx'
import { Breakable, UntrustedText } from '../ui/untrusted-text.tsx'
import { count, plural } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { BulkBar } from '../tools/bulk.tsx'
import { filterFrom, filterQuery, type ToolFilter } from '../tools/filter.ts'
import { FilterBar, NoMatch } from '../tools/filter-bar.tsx'
import { ItemSections } from '../tools/item-list.tsx'
import { ItemTags } from '../tools/item-tags.tsx'
import { ListPane } from '../tools/list-pane.tsx'
import { selectedItems, entriesOf, listItems, summary, toggle, toggleAll } from '../tools/list.ts'
import { RowSwitch } from '../tools/row-switch.tsx'
import { useSwitch } from '../tools/switching.ts'
import { ToolDetail } from '../tools/tool-detail.tsx'

/** Tools by server, beside the open one. */
export function Tools({ name, query }: PageProps) {
  const tools = useSource(sources.tools)
  const isSelecting = useSignal(false)
  const filter = filterFrom(new URLSearchParams(query))
  const { administer } = useRights()
  const isEmpty = tools.data.value?.tools.length === 0
  const sub = tools.data.value && !isEmpty && <ServedSummary tools={tools.data.value.tools} />
  return (
    <>
      <PageHead title="Tools" sub={sub}>
        {!isEmpty && administer && (
          <>
            <button
              type="button"
              class="btn"
              aria-pressed={isSelecting.value}
              onClick={() => (isSelecting.value = !isSelecting.value)}
            >
              Select
            </button>
            <a class="btn" href={link('new-group', '', { from: 'tools', ...filterQuery(filter) })}>
              New group from filter
            </a>
          </>
        )}
      </PageHead>
      <AsyncContent resource={tools} subject="The tools">
        {(data) => (
          <Panes
            tools={data.tools}
            name={name}
            tab={query.tab}
            filter={filter}
            isSelecting={isSelecting.value}
            onStart={() => (isSelecting.value = true)}
            onDone={() => (isSelecting.value = false)}
          />
        )}
      </AsyncContent>
    </>
  )
}

function ServedSummary({ tools }: { tools: readonly ToolView[] }) {
  const { served, disabled, servers } = summary(tools)
  return (
    <>
      {count(served)} served, {disabled > 0 && `${count(disabled)} disabled, `}from {plural(servers, 'server')}.
    </>
  )
}

interface PanesProps {
  readonly tools: readonly ToolView[]
  readonly name: string
  /** Tab of the open tool. */
  readonly tab: string | undefined
  readonly filter: ToolFilter
  readonly isSelecting: boolean
  readonly onStart: () => void
  readonly onDone: () => void
}

const searched = ({ canonical_name, title, description }: ToolView) => [canonical_name, title, description]

function Panes({ tools, name, tab, filter, isSelecting, onStart, onDone }: PanesProps) {
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const entries = useMemo(() => entriesOf(tools, searched), [tools])
  const { q, server, state } = filter
  const list = useMemo(() => listItems(entries, { q, server, state }), [entries, q, server, state])
  const servers = useMemo(() => [...new Set(tools.map((tool) => tool.server))], [tools])
  const flagged = useMemo(() => tools.filter(({ flags }) => flags.length > 0).length, [tools])
  const tokens = useMemo(() => summary(tools).tokens, [tools])
  if (tools.length === 0) return <NoTools />
  const chosen = selectedItems(list.shown, selected.value)
  const current = tools.find((tool) => tool.canonical_name === name)
  return (
    <>
      <FilterBar
        filter={filter}
        label="Search tools"
        placeholder="Search names and descriptions"
        servers={servers}
        flagged={flagged}
      >
        <span class="muted">~{count(tokens)} tokens of tool definitions</span>
      </FilterBar>
      {isSelecting && (
        <BulkBar
          chosen={chosen}
          shown={list.shown.length}
          hidden={selected.value.size - chosen.length}
          onToggleAll={() => (selected.value = toggleAll(list.shown, selected.value))}
          onDone={() => {
            selected.value = new Set()
            onDone()
          }}
        />
      )}
      <div class="two">
        <ListPane current={name}>
          {list.shown.length === 0 && <NoMatch filter={filter} itemsName="tool" />}
          <ItemSections
            list={list}
            keyOf={(tool) => tool.canonical_name}
            current={name}
            row={(tool) => (
              <ToolRow
                tool={tool}
                isCurrent={tool.canonical_name === name}
                query={filterQuery(filter)}
                isSelected={isSelecting ? selected.value.has(tool.canonical_name) : undefined}
                onSelect={() => {
                  selected.value = toggle(selected.value, tool.canonical_name)
                  onStart()
                }}
              />
            )}
          />
        </ListPane>
        {current ? (
          <ToolDetail key={current.canonical_name} tool={current} tab={tab} />
        ) : (
          <NoTool name={name} count={tools.length} />
        )}
      </div>
    </>
  )
}

interface ToolRowProps {
  readonly tool: ToolView
  readonly isCurrent: boolean
  readonly query: Readonly<Record<string, string>>
  /** Selection state; undefined while selection is off. */
  readonly isSelected: boolean | undefined
  readonly onSelect: () => void
}

function ToolRow({ tool, isCurrent, query, isSelected, onSelect }: ToolRowProps) {
  const { canonical_name, name, description, enabled, server_enabled } = tool
  const setEnabled = useSwitch('tools')
  const { administer } = useRights()
  return (
    <div class="itm">
      {isSelected === undefined ? (
        // hidden; Space in a row activates it to start a selection
        administer && <input type="checkbox" hidden aria-label={canonical_name} onChange={onSelect} />
      ) : (
        <label class="pick">
          <input type="checkbox" class="cb" checked={isSelected} onChange={onSelect} aria-label={canonical_name} />
        </label>
      )}
      <a
        href={link('tool', canonical_name, query)}
        data-row
        aria-current={isCurrent ? 'true' : undefined}
        class={enabled && server_enabled ? undefined : 'dim'}
      >
        <span class="t">
          <code>
            <Breakable text={name} />
          </code>
          <span class="tags">
            <ItemTags item={tool} isBrief />
          </span>
        </span>
        {description && (
          <span class="d">
            <UntrustedText text={description.slice(0, 300)} />
          </span>
        )}
      </a>
      <RowSwitch name={canonical_name} enabled={enabled} onSwitch={(next) => setEnabled(canonical_name, next)} />
    </div>
  )
}

function NoTools() {
  const { administer, audit } = useRights()
  if (!administer) return audit ? <EmptyPanel title="No server offers tools" /> : <NothingAllowed thing="tool" />
  return (
    <EmptyPanel title="No server offers tools">
      <p>Tools come from servers. Add a server and its tools appear here.</p>
      <div class="actions">
        <a class="btn primary" href={link('new-server')}>
          Add server
        </a>
        <a class="btn" href={link('servers')}>
          Go to Servers
        </a>
        <DemoButton />
      </div>
    </EmptyPanel>
  )
}

/** Placeholder while no tool is chosen, or if the name does not exist. */
function NoTool({ name, count: total }: { name: string; count: number }) {
  const may = useRights()
  return (
    <section class="det none" aria-label="Tool">
      {name ? (
        <>
          <h2 data-arrival tabIndex={-1}>
            No tool named <UntrustedText text={name} />
          </h2>
          <p class="muted">Its server may have removed it, or the name belongs to another gateway.</p>
        </>
      ) : (
        <p class="muted">
          Choose one of {plural(total, 'tool')} to read its definition{may.call && ' and to call it'}.{' '}
          <span class="keys-only">
            <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens.
          </span>
        </p>
      )}
    </section>
  )
}

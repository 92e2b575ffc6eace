import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { change, path } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { PageHead } from '../components/page-head.tsx'
import { Loaded } from '../components/panels.tsx'
import { Confirm } from '../components/dialog.tsx'
import { plural } from '../format.ts'
import { Chooser } from '../groups/chooser.tsx'
import { changeCount, draftOf, emptyDraft, groupInput, withoutName, withTools, type Draft } from '../groups/draft.ts'
import { Effective } from '../groups/effective.tsx'
import { GroupFields } from '../groups/group-fields.tsx'
import { GroupEndpoints } from '../groups/group-endpoints.tsx'
import { begin, step, undo } from '../groups/history.ts'
import type { TreeServer } from '../groups/tree.ts'
import { usePreview } from '../groups/use-preview.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { filterFrom } from '../tools/filter.ts'
import { entriesOf, listItems } from '../tools/list.ts'

type Query = PageProps['query']

/** A group that is there, or one that is new; `clone` begins it as a copy, `from=tools` with what a filter shows. */
export function GroupBuilder({ name, query }: PageProps) {
  return name === '' ? <NewGroup query={query} /> : <SavedGroup name={name} />
}

function NewGroup({ query }: { query: Query }) {
  const servers = useSource(sources.servers)
  const tools = useSource(sources.tools)
  const groups = useSource(sources.groups)
  return (
    <Loaded resource={groups} what="The groups">
      {({ tool_groups }) => (
        <Loaded resource={tools} what="The tools">
          {(offered) => (
            <Loaded resource={servers} what="The servers">
              {(known) => (
                <Builder
                  servers={known.servers}
                  tools={offered.tools}
                  saved={undefined}
                  start={startOf(query, offered.tools, tool_groups)}
                />
              )}
            </Loaded>
          )}
        </Loaded>
      )}
    </Loaded>
  )
}

function SavedGroup({ name }: { name: string }) {
  const servers = useSource(sources.servers)
  const tools = useSource(sources.tools)
  const group = useSource(sources.group(name))
  if (group.error.value?.status === 404 && group.data.value === undefined) return <NoGroup name={name} />
  return (
    <Loaded resource={group} what="The group">
      {(saved) => (
        <Loaded resource={tools} what="The tools">
          {(offered) => (
            <Loaded resource={servers} what="The servers">
              {(known) => (
                <Builder servers={known.servers} tools={offered.tools} saved={saved} start={draftOf(saved)} />
              )}
            </Loaded>
          )}
        </Loaded>
      )}
    </Loaded>
  )
}

const NoGroup = ({ name }: { name: string }) => (
  <>
    <PageHead title="Group" crumb={<a href={link('groups')}>Groups</a>} />
    <p>
      No group is called <code>{name}</code>. <a href={link('groups')}>Go to Groups</a>
    </p>
  </>
)

/** A copy of a group, what a filter of the tools shows, or nothing. */
function startOf(query: Query, tools: readonly ToolView[], groups: readonly ToolGroupView[]): Draft {
  const original = groups.find(({ name }) => name === query.clone)
  if (original) return { ...draftOf(original), name: `${original.name}-copy`.slice(0, 64) }
  if (query.from !== 'tools') return emptyDraft
  const entries = entriesOf(tools, ({ canonical_name, title, description }) => [canonical_name, title, description])
  const { shown } = listItems(entries, filterFrom(new URLSearchParams(query)))
  return withTools(
    emptyDraft,
    shown.map(({ server, canonical_name }) => ({ server, name: canonical_name }))
  )
}

interface BuilderProps {
  readonly servers: readonly TreeServer[]
  readonly tools: readonly ToolView[]
  readonly saved: ToolGroupView | undefined
  /** What the builder begins with. */
  readonly start: Draft
}

function Builder({ servers, tools, saved, start }: BuilderProps) {
  const { store, location, notice } = useApp()
  const history = useSignal(begin(start))
  const leave = useSignal<(() => void) | undefined>(undefined)
  const isDeleting = useSignal(false)
  const failure = useSignal('')
  const isSaving = useSignal(false)
  const draft = history.value.now
  const base = saved ? draftOf(saved) : emptyDraft
  const changes = changeCount(base, draft)
  const hasChanges = changes > 0
  const preview = usePreview(draft, tools)

  const edit = (next: Draft) => {
    history.value = step(history.value, next)
    failure.value = ''
  }
  // what somebody else saved is taken over, unless it would take away what was chosen here
  const known = useRef(base)
  useEffect(() => {
    if (!saved) return
    const next = draftOf(saved)
    if (changeCount(known.current, history.peek().now) === 0) history.value = begin(next)
    known.current = next
  }, [saved, history])
  const release = useRef(() => {})
  // with the very frame that says so: what was just saved is not asked about
  useLayoutEffect(() => {
    if (!hasChanges) return
    release.current = location.guard((go) => (leave.value = go))
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', onUnload)
    return () => {
      release.current()
      removeEventListener('beforeunload', onUnload)
    }
  }, [location, leave, hasChanges])

  const save = async () => {
    if (isSaving.value) return
    isSaving.value = true
    failure.value = ''
    const { name, ...configuration } = groupInput(draft)
    try {
      if (saved) await change('PUT', path('tool-groups', saved.name), configuration)
      else await change('POST', path('tool-groups'), { name, ...configuration })
      notice.value = `Group ${name} saved`
      await store.refresh(new Set(['tool_groups']))
      if (!saved) {
        release.current()
        location.navigate(link('group', name))
      }
    } catch (error) {
      failure.value = (error as Error).message
    }
    isSaving.value = false
  }
  const discard = () => {
    failure.value = ''
    if (saved) history.value = begin(base)
    else location.navigate(link('groups'))
  }
  const crumb = (
    <>
      <a href={link('groups')}>Groups</a> <span aria-hidden="true">/</span>
    </>
  )
  return (
    <>
      <PageHead title={saved ? saved.name : 'New group'} crumb={crumb}>
        <span class="muted" role="status">
          {hasChanges && saved ? `${plural(changes, 'change')} not saved` : ''}
        </span>
        {(changes > 0 || !saved) && (
          <button type="button" class="btn quiet" onClick={discard}>
            {saved ? 'Discard' : 'Cancel'}
          </button>
        )}
        {saved && (
          <button type="button" class="btn" onClick={() => (isDeleting.value = true)}>
            Delete
          </button>
        )}
        <button
          type="button"
          class="btn primary"
          disabled={(saved && changes === 0) || isSaving.value}
          onClick={() => void save()}
        >
          {saved ? 'Save group' : 'Create group'}
        </button>
      </PageHead>
      {failure.value && (
        <p class="banner err" role="alert">
          <strong>The group was not saved.</strong> {failure.value}
        </p>
      )}
      {saved && <GroupEndpoints group={saved} />}
      <GroupFields draft={draft} isNew={!saved} onChange={edit} onSave={() => void save()} />
      <div class="build">
        <Chooser
          servers={servers}
          tools={tools}
          draft={draft}
          onChange={edit}
          onUndo={history.value.past.length > 0 ? () => (history.value = undo(history.value)) : undefined}
        />
        <Effective
          preview={preview}
          draft={draft}
          saved={base}
          savedCount={saved?.tool_count}
          onDrop={(name) => edit(withoutName(draft, name))}
        />
      </div>
      {leave.value && (
        <Confirm
          title="Leave without saving?"
          action="Leave"
          onClose={() => (leave.value = undefined)}
          onConfirm={async () => leave.value?.()}
        >
          <p>{plural(changes, 'change')} to this group will be lost.</p>
        </Confirm>
      )}
      {isDeleting.value && saved && (
        <DeleteGroup
          group={saved}
          onClose={() => (isDeleting.value = false)}
          onDeleted={() => {
            store.open(sources.groups).patch(({ tool_groups }) => ({
              tool_groups: tool_groups.filter(({ name }) => name !== saved.name)
            }))
            release.current()
            location.navigate(link('groups'))
          }}
        />
      )}
    </>
  )
}

interface DeleteGroupProps {
  readonly group: ToolGroupView
  readonly onClose: () => void
  readonly onDeleted: () => void
}

const DeleteGroup = ({ group, onClose, onDeleted }: DeleteGroupProps) => (
  <Confirm
    title={`Delete ${group.name}?`}
    action="Delete group"
    onClose={onClose}
    onConfirm={async () => {
      await change('DELETE', path('tool-groups', group.name))
      onDeleted()
    }}
  >
    <p>
      Its endpoint goes, and what is connected to it loses {plural(group.tool_count, 'tool')}. The tools themselves
      stay.
    </p>
    <code>{group.streamable_http_endpoint}</code>
  </Confirm>
)

import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { useRights, useSource } from '../app-context.ts'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { Builder } from '../groups/builder.tsx'
import { draftOf, emptyDraft, withTools, type Draft } from '../groups/draft.ts'
import { GroupReader } from '../groups/group-reader.tsx'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { filterFrom } from '../tools/filter.ts'
import { entriesOf, listItems } from '../tools/list.ts'

type Query = PageProps['query']

/** Page of an existing or a new group. `clone` starts from a copy, `from=tools` from the tools that a filter shows. */
export function GroupBuilder({ name, query }: PageProps) {
  const { administer } = useRights()
  if (name === '') return <NewGroup query={query} />
  return administer ? <SavedGroup name={name} /> : <ReadGroup name={name} />
}

/** A group for viewers who may not change it. */
function ReadGroup({ name }: { name: string }) {
  const group = useSource(sources.group(name))
  if (group.error.value?.status === 404 && group.data.value === undefined) return <NoGroup name={name} />
  return (
    <AsyncContent resource={group} subject="The group">
      {(saved) => <GroupReader group={saved} />}
    </AsyncContent>
  )
}

function NewGroup({ query }: { query: Query }) {
  const servers = useSource(sources.servers)
  const tools = useSource(sources.tools)
  const groups = useSource(sources.groups)
  return (
    <AsyncContent resource={groups} subject="The groups">
      {({ tool_groups }) => (
        <AsyncContent resource={tools} subject="The tools">
          {(offered) => (
            <AsyncContent resource={servers} subject="The servers">
              {(known) => (
                <Builder
                  servers={known.servers}
                  tools={offered.tools}
                  saved={undefined}
                  start={startOf(query, offered.tools, tool_groups)}
                />
              )}
            </AsyncContent>
          )}
        </AsyncContent>
      )}
    </AsyncContent>
  )
}

function SavedGroup({ name }: { name: string }) {
  const servers = useSource(sources.servers)
  const tools = useSource(sources.tools)
  const group = useSource(sources.group(name))
  if (group.error.value?.status === 404 && group.data.value === undefined) return <NoGroup name={name} />
  return (
    <AsyncContent resource={group} subject="The group">
      {(saved) => (
        <AsyncContent resource={tools} subject="The tools">
          {(offered) => (
            <AsyncContent resource={servers} subject="The servers">
              {(known) => (
                <Builder servers={known.servers} tools={offered.tools} saved={saved} start={draftOf(saved)} />
              )}
            </AsyncContent>
          )}
        </AsyncContent>
      )}
    </AsyncContent>
  )
}

const NoGroup = ({ name }: { name: string }) => (
  <>
    <PageHead
      title="Group"
      crumb={
        <>
          <a href={link('groups')}>Groups</a> <span aria-hidden="true">/</span>
        </>
      }
    />
    <p>
      No group named <code>{name}</code>. <a href={link('groups')}>Go to Groups</a>
    </p>
  </>
)

/** Returns the initial draft: a copy of a group, the filtered tools, or an empty one. */
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

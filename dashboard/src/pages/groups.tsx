import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import { useRights, useSource } from '../app-context.ts'
import { ClientsSeen } from '../connect/clients-seen.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { NothingAllowed } from '../shell/who-can-help.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { EmptyPanel, AsyncContent } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { count, plural } from '../format.ts'
import { link } from '../router.ts'
import type { Viewer } from '../session.ts'
import * as sources from '../sources.ts'

/** Groups with their effective tools. */
export function Groups() {
  const groups = useSource(sources.groups)
  const { administer } = useRights()
  const isEmpty = groups.data.value?.tool_groups.length === 0
  return (
    <>
      <PageHead title="Groups" sub="A group is its own MCP endpoint with only the tools you choose.">
        {!isEmpty && administer && (
          <a class="btn primary" href={link('new-group')} data-new>
            New group
          </a>
        )}
      </PageHead>
      <AsyncContent resource={groups} subject="The groups">
        {({ tool_groups: list }) => (list.length === 0 ? <NoGroups /> : <GroupTable groups={list} />)}
      </AsyncContent>
    </>
  )
}

function NoGroups() {
  const { administer, audit } = useRights()
  if (!administer) {
    return audit ? <EmptyPanel title="There are no groups yet" /> : <NothingAllowed thing="group" />
  }
  return (
    <EmptyPanel title="There are no groups yet">
      <p>
        An agent does better with ten tools that it needs than with a hundred that it might. Choose tools of one or more
        servers, and give each agent the endpoint of its group.
      </p>
      <div class="actions">
        <a class="btn primary" href={link('new-group')} data-new>
          New group
        </a>
      </div>
    </EmptyPanel>
  )
}

const columnsFor = ({ administer, audit }: Viewer['may']): readonly Column<ToolGroupView>[] => [
  {
    key: 'name',
    label: 'Name',
    value: ({ name }) => name,
    cell: ({ name, missing, description }) => (
      <>
        <a class="name" href={link('group', name)} data-row>
          {name}
        </a>
        {missing.length > 0 && (
          <>
            {' '}
            <span class="tag err">{plural(missing.length, 'name')} missing</span>
          </>
        )}
        {description && (
          <span class="help blk clip">
            <UntrustedText text={description} />
          </span>
        )}
      </>
    )
  },
  {
    key: 'tools',
    label: 'Tools',
    kind: 'num',
    value: ({ tool_count }) => tool_count,
    cell: ({ tool_count }) => count(tool_count)
  },
  {
    key: 'tokens',
    label: 'Tokens',
    kind: 'num opt2',
    value: ({ tokens }) => tokens,
    cell: ({ tokens }) => `~${count(tokens)}`
  },
  {
    key: 'endpoint',
    label: 'Endpoint',
    kind: 'opt2',
    value: ({ streamable_http_endpoint: url }) => url,
    cell: ({ streamable_http_endpoint: url }) => <code class="ep whole">{url}</code>
  },
  ...(audit ? [seenColumn] : []),
  {
    key: 'actions',
    label: 'Actions',
    cell: ({ name, streamable_http_endpoint: url }) => (
      <div class="actions nowrap right">
        <span class="opt2">
          <CopyButton kind="quiet sm" text={url}>
            Copy URL
          </CopyButton>
        </span>
        {administer && (
          <a class="btn quiet sm" href={link('new-group', '', { clone: name })} aria-label={`Clone ${name}`}>
            Clone
          </a>
        )}
      </div>
    )
  }
]

const seenColumn: Column<ToolGroupView> = {
  key: 'seen',
  label: 'Clients seen',
  kind: 'opt wrap',
  value: ({ clients }) => clients.length,
  cell: ({ clients, seen }) => <ClientsSeen clients={clients} seen={seen} />
}

/** Groups that lack a tool come first. */
const GroupTable = ({ groups }: { groups: readonly ToolGroupView[] }) => (
  <SortedTable
    label="Groups"
    kind="gtable"
    rows={groups.toSorted((a, b) => Number(b.missing.length > 0) - Number(a.missing.length > 0))}
    columns={columnsFor(useRights())}
    keyOf={({ name }) => name}
    opens
  />
)

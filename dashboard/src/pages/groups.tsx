import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import { useRights, useSource } from '../app-context.ts'
import { ClientsSeen } from '../connect/clients-seen.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { EmptyPanel, AsyncContent } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Table } from '../ui/table.tsx'
import { count, plural } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { TableHead } from '../ui/table-head.tsx'

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
    return <EmptyPanel title={audit ? 'There are no groups yet' : 'There is no group that you may use yet'} />
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

function GroupTable({ groups }: { groups: readonly ToolGroupView[] }) {
  const { audit } = useRights()
  return (
    <Table label="Groups" kind="gtable">
      <TableHead
        columns={[
          'Name',
          ['Tools', 'num'],
          ['Tokens', 'num opt2'],
          ['Endpoint', 'opt2'],
          ...(audit ? ([['Clients seen', 'opt']] as const) : []),
          ['Actions', 'hidden']
        ]}
      />
      <tbody>
        {groups.map((group) => (
          <GroupRow key={group.name} group={group} />
        ))}
      </tbody>
    </Table>
  )
}

function GroupRow({ group }: { group: ToolGroupView }) {
  const { administer, audit } = useRights()
  const { name, description, tool_count, tokens, missing, seen, clients, streamable_http_endpoint: url } = group
  return (
    <tr>
      <th scope="row">
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
      </th>
      <td class="num">{count(tool_count)}</td>
      <td class="num opt2">~{count(tokens)}</td>
      <td class="opt2">
        <code class="ep whole">{url}</code>
      </td>
      {audit && (
        <td class="opt wrap">
          <ClientsSeen clients={clients} seen={seen} />
        </td>
      )}
      <td>
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
      </td>
    </tr>
  )
}

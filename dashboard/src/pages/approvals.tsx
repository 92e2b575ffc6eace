import type { Approval } from '../../../src/schemas/policy.ts'
import { useApp, useSource } from '../app-context.ts'
import { ApprovalTable } from '../approvals/approval-table.tsx'
import { ApprovalView } from '../approvals/approval-view.tsx'
import { toolOf } from '../approvals/words.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { QualifiedName } from '../ui/untrusted-text.tsx'

const views = [
  { id: 'waiting', label: 'Waiting' },
  { id: 'all', label: 'All' }
] as const

const Empty = ({ isAll }: { isAll: boolean }) =>
  isAll ? (
    <EmptyPanel title="No call has needed an approval yet">
      <p>A policy with the effect “approve” lets a call run only after somebody has said yes to it.</p>
    </EmptyPanel>
  ) : (
    <EmptyPanel title="No call waits for an approval" />
  )

/** Calls that run only after a yes. */
export function Approvals({ query }: PageProps) {
  const { location } = useApp()
  const view = query.view === 'all' ? 'all' : 'waiting'
  const isAll = view === 'all'
  const approvals = useSource(sources.approvals(isAll ? undefined : 'pending'))
  return (
    <>
      <PageHead title="Approvals" sub="Calls that run only after somebody has said yes to exactly this call." />
      <Tabs
        label="Approvals"
        tabs={views}
        current={view}
        onSelect={(next) => location.setQuery({ view: next === 'all' ? 'all' : undefined })}
      >
        <AsyncContent resource={approvals} subject="The approvals">
          {(list) => (list.length === 0 ? <Empty isAll={isAll} /> : <ApprovalTable approvals={list} query={query} />)}
        </AsyncContent>
      </Tabs>
    </>
  )
}

const crumb = (
  <>
    <a href={link('approvals')}>Approvals</a> <span aria-hidden="true">/</span>
  </>
)

const Found = ({ approval }: { approval: Approval }) => (
  <>
    <PageHead title={toolOf(approval)} heading={<QualifiedName name={toolOf(approval)} />} crumb={crumb} />
    <ApprovalView approval={approval} />
  </>
)

/** One call, with the decision on it. */
export function ApprovalPage({ name }: PageProps) {
  const approval = useSource(sources.approval(name))
  if (approval.error.value?.status === 404 && approval.data.value === undefined)
    return (
      <>
        <PageHead title="Approval" crumb={crumb} />
        <p>
          There is no such call. <a href={link('approvals')}>Go to Approvals</a>
        </p>
      </>
    )
  return (
    <AsyncContent resource={approval} subject="The call">
      {(found) => <Found approval={found} />}
    </AsyncContent>
  )
}

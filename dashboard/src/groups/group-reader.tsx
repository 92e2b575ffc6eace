import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import { count, plural } from '../format.ts'
import { link } from '../router.ts'
import { PageHead } from '../ui/page-head.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { GroupEndpoints } from './group-endpoints.tsx'
import { ServedTools } from './effective.tsx'

/** A group with its endpoints and tools, without controls that change it. */
export const GroupReader = ({ group }: { group: ToolGroupView }) => (
  <>
    <PageHead
      title={group.name}
      crumb={
        <>
          <a href={link('groups')}>Groups</a> <span aria-hidden="true">/</span>
        </>
      }
      sub={group.description && <UntrustedText text={group.description} />}
    />
    <GroupEndpoints group={group} />
    <section class="panel flush below" aria-labelledby="group-tools">
      <div class="phead">
        <h2 id="group-tools">What agents get</h2>
        <p class="muted">
          {plural(group.tool_count, 'tool')}, ~{count(group.tokens)} tokens
        </p>
      </div>
      <ServedTools tools={group.tools} />
    </section>
  </>
)

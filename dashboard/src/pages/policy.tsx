import { policySentence } from '../../../src/domain/policy/sentence.ts'
import type { Policy } from '../../../src/schemas/policy.ts'
import { useApp, useSource } from '../app-context.ts'
import type { PageProps } from '../pages.ts'
import { draftOf } from '../policies/draft.ts'
import { PolicyEditor } from '../policies/editor.tsx'
import { ObservedFacts } from '../policies/observed.tsx'
import { PolicyState } from '../policies/state.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { JsonView } from '../ui/json-view.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const crumb = (
  <>
    <a href={link('policies')}>Policies</a> <span aria-hidden="true">/</span>
  </>
)

/** A policy for those who may only read it, and one of the policy file for everybody. */
const PolicyView = ({ policy }: { policy: Policy }) => (
  <div class="stack">
    <PageHead title={policy.name} crumb={crumb} sub={<PolicyState {...policy} />} />
    {policy.source === 'file' && (
      <p class="banner warn">
        This policy is in the policy file of the gateway (<code>TOWPATH_POLICY_FILE</code>). It is changed there, and
        the gateway reads the file when it starts.
      </p>
    )}
    <p class="sentence panel">
      <UntrustedText text={policySentence(policy)} />.
    </p>
    {policy.observed && <ObservedFacts effect={policy.effect} observed={policy.observed} />}
    {policy.reason !== undefined && (
      <p>
        Callers are told: <UntrustedText text={policy.reason} />
      </p>
    )}
    <JsonView value={draftOf(policy)} label="Policy as text" />
  </div>
)

function SavedPolicy({ name }: { name: string }) {
  const { viewer } = useApp()
  const policy = useSource(sources.policy(name))
  if (policy.error.value?.status === 404 && policy.data.value === undefined)
    return (
      <>
        <PageHead title="Policy" crumb={crumb} />
        <p>
          No policy named{' '}
          <code>
            <UntrustedText text={name} />
          </code>
          . <a href={link('policies')}>Go to Policies</a>
        </p>
      </>
    )
  return (
    <AsyncContent resource={policy} subject="The policy">
      {(saved) =>
        viewer.value.may.administer && saved.source !== 'file' ? (
          <PolicyEditor saved={saved} />
        ) : (
          <PolicyView policy={saved} />
        )
      }
    </AsyncContent>
  )
}

/** Page of a policy, or of a new one. */
export const PolicyPage = ({ name }: PageProps) =>
  name === '' ? <PolicyEditor saved={undefined} /> : <SavedPolicy name={name} />

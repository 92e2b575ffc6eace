import { useApp } from '../app-context.ts'
import { EmptyPanel } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Names administrators to whom the viewer can turn; nothing if none is known. */
export function WhoCanHelp() {
  const { administrators } = useApp().viewer.value
  if (administrators.length === 0) return null
  return (
    <p>
      These administrators can help:{' '}
      {administrators.map((each, at) => (
        <span key={each}>
          {at > 0 && ', '}
          <strong>
            <UntrustedText text={each} />
          </strong>
        </span>
      ))}
      .
    </p>
  )
}

/** Shown to a user instead of an empty list. `things`: `tool`. */
export const NothingAllowed = ({ thing }: { thing: string }) => (
  <EmptyPanel title={`There is no ${thing} that you may use yet`}>
    <p>Policies decide what you may use, and no policy lets you use one.</p>
    <WhoCanHelp />
  </EmptyPanel>
)

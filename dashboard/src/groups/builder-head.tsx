import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import { PageHead } from '../ui/page-head.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { plural } from '../format.ts'
import { link } from '../router.ts'

interface BuilderHeadProps {
  readonly saved: ToolGroupView | undefined
  /** Description; undefined if it has a field of its own. */
  readonly description: string | undefined
  /** Number of unsaved changes. */
  readonly changes: number
  /** True if saving without changes makes sense: tools have changed since. */
  readonly canSaveAgain: boolean
  readonly isSaving: boolean
  readonly onDescribe: () => void
  readonly onDiscard: () => void
  readonly onDelete: () => void
}

/** Title of the group builder with its actions; the button to save submits the form of GroupFields. */
export function BuilderHead({ saved, description, changes, canSaveAgain, isSaving, ...on }: BuilderHeadProps) {
  const crumb = (
    <>
      <a href={link('groups')}>Groups</a> <span aria-hidden="true">/</span>
    </>
  )
  const sub = description !== undefined && <Description text={description} onDescribe={on.onDescribe} />
  return (
    <PageHead title={saved ? saved.name : 'New group'} crumb={crumb} sub={sub}>
      <span class="muted" role="status">
        {changes > 0 && saved ? `${plural(changes, 'change')} not saved` : ''}
      </span>
      {(changes > 0 || !saved) && (
        <button type="button" class="btn quiet" onClick={on.onDiscard}>
          {saved ? 'Discard' : 'Cancel'}
        </button>
      )}
      {saved && (
        <button type="button" class="btn" onClick={on.onDelete}>
          Delete
        </button>
      )}
      <button
        type="submit"
        form="group-fields"
        class="btn primary"
        disabled={(saved && changes === 0 && !canSaveAgain) || isSaving}
      >
        {saved ? 'Save group' : 'Create group'}
      </button>
    </PageHead>
  )
}

function Description({ text, onDescribe }: { text: string; onDescribe: () => void }) {
  const describe = () => {
    onDescribe()
    setTimeout(() => document.querySelector<HTMLElement>('#group-description')?.focus())
  }
  return (
    <>
      {text && (
        <>
          <UntrustedText text={text} />{' '}
        </>
      )}
      <button type="button" class="lnk link" onClick={describe}>
        {text ? 'Edit description' : 'Add a description'}
      </button>
    </>
  )
}

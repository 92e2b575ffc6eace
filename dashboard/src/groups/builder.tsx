import { useSignal, type Signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { isName } from '../../../src/domain/names.ts'
import type { ToolOverride } from '../../../src/domain/overrides/tool-overrides.ts'
import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { change, path, type ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { Confirm } from '../ui/dialog.tsx'
import { plural, sentence } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { BuilderHead } from './builder-head.tsx'
import { Chooser } from './chooser.tsx'
import { DeleteGroup } from './delete-group.tsx'
import { changeCount, draftOf, emptyDraft, groupInput, withOverride, withoutName, type Draft } from './draft.ts'
import { ToolDialog } from './tool-dialog.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Effective } from './effective.tsx'
import { GroupEndpoints } from './group-endpoints.tsx'
import { GroupFields } from './group-fields.tsx'
import { startHistory, addStep, undo, type History } from './history.ts'
import type { TreeServer } from './tree.ts'
import { useGuard } from './use-guard.ts'
import { usePreview } from './use-preview.ts'

interface BuilderProps {
  readonly servers: readonly TreeServer[]
  readonly tools: readonly ToolView[]
  readonly saved: ToolGroupView | undefined
  /** Initial draft. */
  readonly start: Draft
}

/** Group builder: chooses the tools of a group and previews the result. Nothing is stored until Save. */
export function Builder({ servers, tools, saved, start }: BuilderProps) {
  const { store, location, notice } = useApp()
  const history = useSignal(startHistory(start))
  const leave = useSignal<(() => void) | undefined>(undefined)
  const isDeleting = useSignal(false)
  /** Public name of the tool whose override is open. */
  const changing = useSignal('')
  const failure = useSignal('')
  const nameProblem = useSignal('')
  const isSaving = useSignal(false)
  const isDescribing = useSignal(!saved)
  const draft = history.value.now
  const base = saved ? draftOf(saved) : emptyDraft
  const changes = changeCount(base, draft)
  const names = useMemo(() => new Set(servers.map(({ name }) => name)), [servers])
  const preview = usePreview(draft, tools)

  const edit = (next: Draft) => {
    history.value = addStep(history.value, next)
    failure.value = ''
    nameProblem.value = ''
  }
  useSavedElsewhere(saved, base, history)
  const release = useGuard(changes > 0, (go) => (leave.value = go))

  const refuseName = (why: string) => {
    nameProblem.value = why
    document.querySelector<HTMLElement>('#group-name')?.focus()
  }
  const save = async () => {
    if (isSaving.value) return
    failure.value = ''
    if (!saved && !isName(draft.name)) return refuseName(draft.name === '' ? 'Enter a name.' : '')
    isSaving.value = true
    const { name, ...configuration } = groupInput(draft)
    try {
      if (saved) await change('PUT', path('tool-groups', saved.name), configuration)
      else await change('POST', path('tool-groups'), { name, ...configuration })
      notice.value = `Group ${name} saved`
      await store.refresh(new Set(['tool_groups']))
      if (!saved) {
        release()
        location.navigate(link('group', name))
      }
    } catch (error) {
      const { message, status, code } = error as ApiError
      if (!saved && status === 409 && code === undefined) refuseName(`A group named ${name} already exists.`)
      else failure.value = sentence(message)
    }
    isSaving.value = false
  }
  const discard = () => {
    failure.value = ''
    if (saved) history.value = startHistory(base)
    else location.navigate(link('groups'))
  }
  return (
    <>
      <BuilderHead
        saved={saved}
        description={isDescribing.value ? undefined : draft.description}
        changes={changes}
        canSaveAgain={isOutdated(saved)}
        isSaving={isSaving.value}
        onDescribe={() => (isDescribing.value = true)}
        onDiscard={discard}
        onDelete={() => (isDeleting.value = true)}
      />
      {failure.value && <NotSaved reason={failure.value} />}
      {saved && <Outdated saved={saved} />}
      {saved && <GroupEndpoints group={saved} />}
      <GroupFields
        draft={draft}
        isNew={!saved}
        isDescribing={isDescribing.value}
        problem={nameProblem.value}
        onChange={edit}
        onSave={() => void save()}
      />
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
          servers={names}
          savedCount={saved?.tool_count}
          onDrop={(name) => edit(withoutName(draft, name))}
          onEdit={(name) => (changing.value = name)}
        />
      </div>
      <Changing
        name={changing.value}
        tools={tools}
        draft={draft}
        onApply={(name, override) => edit(withOverride(draft, name, override))}
        onClose={() => (changing.value = '')}
      />
      {leave.value && (
        <ConfirmLeave
          changes={changes}
          onClose={() => (leave.value = undefined)}
          onConfirm={async () => leave.value?.()}
        />
      )}
      {isDeleting.value && saved && (
        <Deletion group={saved} onClose={() => (isDeleting.value = false)} onDeleted={release} />
      )}
    </>
  )
}

const NotSaved = ({ reason }: { readonly reason: string }) => (
  <p class="banner err" role="alert">
    <strong>The group was not saved.</strong> {reason}
  </p>
)

/** Asks before a group is deleted, and returns to the list of groups. */
function Deletion({ group, onClose, onDeleted }: Parameters<typeof DeleteGroup>[0]) {
  const { store, location } = useApp()
  const forget = () => {
    store.open(sources.groups).patch(({ tool_groups }) => ({
      tool_groups: tool_groups.filter(({ name }) => name !== group.name)
    }))
    onDeleted()
    location.navigate(link('groups'))
  }
  return <DeleteGroup group={group} onClose={onClose} onDeleted={forget} />
}

const isOutdated = (saved: ToolGroupView | undefined): boolean =>
  (saved?.stale?.length ?? 0) + (saved?.broken?.length ?? 0) > 0

/** Tools whose servers have changed them since the group was saved. */
function Outdated({ saved: { stale = [], broken = [] } }: { saved: ToolGroupView }) {
  return (
    <>
      {broken.length > 0 && (
        <div class="banner err" role="status">
          <strong>{plural(broken.length, 'tool')} withheld until the group is saved again.</strong>
          <ul>
            {broken.slice(0, MAX_NAMED).map(({ tool, reason }) => (
              <li key={tool}>
                <UntrustedText text={`${tool}: ${reason}`} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {stale.length > 0 && (
        <p class="banner warn" role="status">
          <strong>Changed by their servers since the group was saved:</strong>{' '}
          <UntrustedText text={stale.slice(0, MAX_NAMED).join(', ')} />
          {stale.length > MAX_NAMED && ` and ${stale.length - MAX_NAMED} more`}. Review what the group shows of them,
          then save it again.
        </p>
      )}
    </>
  )
}

/** Tools that a banner names. */
const MAX_NAMED = 5

interface ChangingProps {
  /** Empty if no dialog is open. */
  readonly name: string
  readonly tools: readonly ToolView[]
  readonly draft: Draft
  readonly onApply: (name: string, override: ToolOverride | undefined) => void
  readonly onClose: () => void
}

function Changing({ name, tools, draft, onApply, onClose }: ChangingProps) {
  const tool = name === '' ? undefined : tools.find(({ canonical_name }) => canonical_name === name)
  if (!tool) return null
  return (
    <ToolDialog
      tool={tool}
      override={draft.tools[name]}
      onApply={(override) => onApply(name, override)}
      onClose={onClose}
    />
  )
}

/** Adopts changes saved elsewhere, unless there are unsaved changes here. */
function useSavedElsewhere(saved: ToolGroupView | undefined, base: Draft, history: Signal<History<Draft>>): void {
  const known = useRef(base)
  useEffect(() => {
    if (!saved) return
    const next = draftOf(saved)
    if (changeCount(known.current, history.peek().now) === 0) history.value = startHistory(next)
    known.current = next
  }, [saved, history])
}

interface ConfirmLeaveProps {
  /** Number of unsaved changes. */
  readonly changes: number
  readonly onClose: () => void
  readonly onConfirm: () => Promise<void>
}

function ConfirmLeave({ changes, onClose, onConfirm }: ConfirmLeaveProps) {
  return (
    <Confirm title="Leave without saving?" action="Leave" onClose={onClose} onConfirm={onConfirm}>
      <p>{plural(changes, 'change')} to this group will be lost.</p>
    </Confirm>
  )
}

import { useSignal } from '@preact/signals'
import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { change, path } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { Dialog } from '../ui/dialog.tsx'
import { count, plural } from '../format.ts'
import { draftOf, emptyDraft, groupInput, withTools } from '../groups/draft.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { useSwitch } from './switching.ts'

/** Requests at a time. */
const CONCURRENCY = 4

/** Runs `work` for each item, a few at a time. Returns the first error messages. */
async function runForEach<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<string[]> {
  const failures: string[] = []
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(item).catch((error: Error) => failures.push(error.message))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return failures
}

interface BulkBarProps {
  /** Selected tools that match the filter. */
  readonly chosen: readonly ToolView[]
  readonly shown: number
  /** Number of selected tools that the filter hides; actions skip them. */
  readonly hidden: number
  readonly onToggleAll: () => void
  readonly onDone: () => void
}

/** Actions on selected tools. */
export function BulkBar({ chosen, shown, hidden, onToggleAll, onDone }: BulkBarProps) {
  const { notice } = useApp()
  const setEnabled = useSwitch('tools')
  const isBusy = useSignal(false)
  const failure = useSignal('')
  const isGrouping = useSignal(false)
  const switchAll = async (enabled: boolean) => {
    isBusy.value = true
    const due = chosen.filter((tool) => tool.enabled !== enabled)
    const failures = await runForEach(due, (tool) => setEnabled(tool.canonical_name, enabled))
    isBusy.value = false
    failure.value = failures.length > 0 ? `${plural(failures.length, 'tool')} not changed: ${failures[0]}` : ''
    notice.value = `${plural(due.length - failures.length, 'tool')} ${enabled ? 'enabled' : 'disabled'}`
  }
  const isNone = chosen.length === 0 || isBusy.value
  return (
    <div class="bulk" role="group" aria-label="Selected tools">
      <span role="status">
        {count(chosen.length)} of {count(shown)} selected
        {hidden > 0 && <span class="muted">, {count(hidden)} more are hidden by the filter and stay unchanged</span>}
      </span>
      <div class="actions">
        <button type="button" class="btn sm" onClick={onToggleAll}>
          {chosen.length === shown && shown > 0 ? 'Select none' : 'Select all shown'}
        </button>
        <button type="button" class="btn sm" disabled={isNone} onClick={() => void switchAll(true)}>
          Enable
        </button>
        <button type="button" class="btn sm" disabled={isNone} onClick={() => void switchAll(false)}>
          Disable
        </button>
        <button type="button" class="btn sm" disabled={isNone} onClick={() => (isGrouping.value = true)}>
          Add to group
        </button>
        <button type="button" class="btn quiet sm" onClick={onDone}>
          Done
        </button>
      </div>
      {failure.value && (
        <p class="err" role="alert">
          {failure.value}
        </p>
      )}
      {isGrouping.value && <GroupDialog tools={chosen} onClose={() => (isGrouping.value = false)} />}
    </div>
  )
}

/** Returns the draft of a group with the tools added. */
const draftWithTools = (group: ToolGroupView | undefined, name: string, tools: readonly ToolView[]) =>
  withTools(
    group ? draftOf(group) : { ...emptyDraft, name },
    tools.map(({ server, canonical_name }) => ({ server, name: canonical_name }))
  )

function GroupDialog({ tools, onClose }: { tools: readonly ToolView[]; onClose: () => void }) {
  const { location, notice } = useApp()
  const groups = useSource(sources.groups).data.value?.tool_groups ?? []
  const target = useSignal('')
  const name = useSignal('')
  const failure = useSignal('')
  const save = async () => {
    const group = groups.find((each) => each.name === target.value)
    const { name: wanted, ...configuration } = groupInput(draftWithTools(group, name.value, tools))
    try {
      if (group) await change('PUT', path('tool-groups', group.name), configuration)
      else await change('POST', path('tool-groups'), { name: wanted, ...configuration })
      notice.value = `${plural(tools.length, 'tool')} added to ${wanted}`
      onClose()
      location.navigate(link('group', wanted))
    } catch (error) {
      failure.value = (error as Error).message
    }
  }
  return (
    <Dialog title={`Add ${plural(tools.length, 'tool')} to a group`} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <div class="field">
          <label for="bulk-group">Group</label>
          <select
            id="bulk-group"
            class="in"
            value={target.value}
            onChange={(event) => (target.value = event.currentTarget.value)}
          >
            <option value="">New group</option>
            {groups.map((group) => (
              <option key={group.name} value={group.name}>
                {group.name}
              </option>
            ))}
          </select>
        </div>
        {target.value === '' && (
          <div class="field">
            <label for="bulk-name">Name of the new group</label>
            <input
              id="bulk-name"
              class="in mono"
              value={name.value}
              autocomplete="off"
              onInput={(event) => (name.value = event.currentTarget.value)}
            />
          </div>
        )}
        {failure.value && (
          <p class="err" role="alert">
            {failure.value}
          </p>
        )}
        <div class="actions end">
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn primary">
            Add tools
          </button>
        </div>
      </form>
    </Dialog>
  )
}

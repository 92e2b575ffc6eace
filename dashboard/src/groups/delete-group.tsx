import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import { change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import { Confirm } from '../ui/dialog.tsx'
import { plural } from '../format.ts'
import * as sources from '../sources.ts'

interface DeleteGroupProps {
  readonly group: ToolGroupView
  readonly onClose: () => void
  readonly onDeleted: () => void
}

/** Confirmation to delete a group. */
export function DeleteGroup({ group, onClose, onDeleted }: DeleteGroupProps) {
  const { store } = useApp()
  const { name } = group
  const remove = async () => {
    await store.whileDeleting(sources.group(name), () => change('DELETE', path('tool-groups', name)))
    onDeleted()
  }
  return (
    <Confirm title={`Delete ${name}?`} action="Delete group" onClose={onClose} onConfirm={remove}>
      <p>
        This also removes its endpoint; connected clients lose {plural(group.tool_count, 'tool')}. The tools themselves
        stay.
      </p>
      <code>{group.streamable_http_endpoint}</code>
    </Confirm>
  )
}

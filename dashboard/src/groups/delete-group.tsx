import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import { change, path } from '../api.ts'
import { Confirm } from '../components/dialog.tsx'
import { plural } from '../format.ts'

interface DeleteGroupProps {
  readonly group: ToolGroupView
  readonly onClose: () => void
  readonly onDeleted: () => void
}

/** Asks, and says what goes. */
export const DeleteGroup = ({ group, onClose, onDeleted }: DeleteGroupProps) => (
  <Confirm
    title={`Delete ${group.name}?`}
    action="Delete group"
    onClose={onClose}
    onConfirm={async () => {
      await change('DELETE', path('tool-groups', group.name))
      onDeleted()
    }}
  >
    <p>
      Its endpoint goes, and what is connected to it loses {plural(group.tool_count, 'tool')}. The tools themselves
      stay.
    </p>
    <code>{group.streamable_http_endpoint}</code>
  </Confirm>
)

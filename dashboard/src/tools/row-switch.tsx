import { useApp, useRights } from '../app-context.ts'

interface RowSwitchProps {
  readonly name: string
  readonly enabled: boolean
  readonly onSwitch: (enabled: boolean) => Promise<unknown>
}

/** Hidden button that the key `e` presses in a row; the visible switch is beside the list. */
export function RowSwitch({ name, enabled, onSwitch }: RowSwitchProps) {
  const { notice } = useApp()
  const { administer } = useRights()
  const onClick = async () => {
    try {
      await onSwitch(!enabled)
      notice.value = `${name} is ${enabled ? 'disabled' : 'enabled'}`
    } catch (error) {
      notice.value = (error as Error).message
    }
  }
  if (!administer) return null
  return <button type="button" role="switch" aria-checked={enabled} hidden onClick={() => void onClick()} />
}

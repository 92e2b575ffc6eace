import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useApp, useRights } from '../app-context.ts'

interface SwitchProps {
  /** Name of the switched thing, for example a server: screen readers announce `<name> enabled`. */
  readonly name: string
  readonly checked: boolean
  /** Sends the change. If it rejects, the switch goes back and shows the message beside it. */
  readonly onSwitch: (enabled: boolean) => Promise<unknown>
  /** Content beside the switch, which also labels it. */
  readonly children?: preact.ComponentChildren
}

/** Switch that enables a thing; viewers who may not do so read its state. */
export const Switch = (props: SwitchProps) =>
  useRights().administer ? (
    <LiveSwitch {...props} />
  ) : (
    <span class="muted">{props.checked ? 'Enabled' : 'Disabled'}</span>
  )

/** Shows the new state at once, before the gateway answers. */
function LiveSwitch({ name, checked, onSwitch, children }: SwitchProps) {
  const { notice } = useApp()
  const wanted = useSignal<boolean | undefined>(undefined)
  const failure = useSignal('')
  const isBusy = useRef(false)
  const change = async (enabled: boolean) => {
    wanted.value = enabled
    failure.value = ''
    // sent after the current request: two at once might arrive in the wrong order
    if (isBusy.current) return
    isBusy.current = true
    let sent: boolean
    try {
      do {
        sent = wanted.value!
        await onSwitch(sent)
        notice.value = `${name} is ${sent ? 'enabled' : 'disabled'}`
      } while (sent !== wanted.value)
    } catch (error) {
      failure.value = (error as Error).message
    }
    isBusy.current = false
    wanted.value = undefined
  }
  const input = (
    <input
      type="checkbox"
      role="switch"
      class="switch"
      aria-label={children ? undefined : `${name} enabled`}
      checked={wanted.value ?? checked}
      onChange={(event) => void change(event.currentTarget.checked)}
    />
  )
  return (
    <>
      {children ? (
        <label class="check">
          {input} {children}
        </label>
      ) : (
        input
      )}
      {failure.value && (
        <span class="err" role="alert">
          {failure.value}
        </span>
      )}
    </>
  )
}

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useApp } from '../app-context.ts'

interface SwitchProps {
  /** Of what is switched, for example a server: `<name> enabled` is read out. */
  readonly name: string
  readonly checked: boolean
  /** Sends the change. When it rejects, the switch goes back and the message stands beside it. */
  readonly onSwitch: (enabled: boolean) => Promise<unknown>
  /** Shown beside the switch; the switch is named by it then. */
  readonly children?: preact.ComponentChildren
}

/** Shows the new state at once; the gateway's answer, or its refusal, follows. */
export function Switch({ name, checked, onSwitch, children }: SwitchProps) {
  const { notice } = useApp()
  const wanted = useSignal<boolean | undefined>(undefined)
  const failure = useSignal('')
  const isBusy = useRef(false)
  const change = async (enabled: boolean) => {
    wanted.value = enabled
    failure.value = ''
    // what is pressed meanwhile is sent afterwards: two at once might arrive in the other order
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

import { HOMEPAGE } from '../../../src/domain/product.ts'
import { useApp } from '../app-context.ts'
import { Dialog } from '../ui/dialog.tsx'
import { MODIFIER } from './shortcuts.ts'

const keys: readonly (readonly [keys: string, what: string])[] = [
  [`${MODIFIER} K`, 'Command menu'],
  ['/', 'Filter this page'],
  ['n', 'New server or group'],
  ['j k', 'Next, previous row'],
  ['Enter', 'Open the row'],
  ['Space', 'Select the row'],
  ['e', 'Enable or disable the row'],
  [`${MODIFIER} Enter`, 'Run the form'],
  ['Esc', 'Close'],
  ['?', 'This list'],
  ['g o', 'Overview'],
  ['g s', 'Servers'],
  ['g t', 'Tools'],
  ['g p', 'Prompts'],
  ['g r', 'Resources'],
  ['g g', 'Groups'],
  ['g c', 'Calls'],
  ['g d', 'Diagnostics']
]

/** Dialog with the keyboard shortcuts and the setting that turns single letters off. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  const { shortcuts } = useApp().preferences
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {keys.map(([names, what]) => (
          <div key={names}>
            <dt>
              {names.split(' ').map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          role="switch"
          class="switch"
          checked={shortcuts.value}
          onChange={(event) => (shortcuts.value = event.currentTarget.checked)}
        />{' '}
        Single-letter shortcuts
      </label>
      <div class="actions end">
        <a href={HOMEPAGE} target="_blank" rel="noopener noreferrer">
          Documentation
        </a>
        <button type="button" class="btn" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

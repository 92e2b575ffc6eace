import { HOMEPAGE } from '../../../src/domain/product.ts'
import { useApp, useRights } from '../app-context.ts'
import type { Viewer } from '../session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { MODIFIER } from './shortcuts.ts'

/** Each key with the right that it needs. */
const keys: readonly (readonly [keys: string, what: string, needs?: keyof Viewer['may']])[] = [
  [`${MODIFIER} K`, 'Command menu'],
  ['/', 'Filter this page'],
  ['n', 'New server or group', 'administer'],
  ['j k', 'Next, previous row'],
  ['Enter', 'Open the row'],
  ['Space', 'Select the row', 'administer'],
  ['e', 'Enable or disable the row', 'administer'],
  [`${MODIFIER} Enter`, 'Run the form', 'call'],
  ['Esc', 'Close'],
  ['?', 'This list'],
  ['g o', 'Overview'],
  ['g s', 'Servers'],
  ['g t', 'Tools'],
  ['g p', 'Prompts'],
  ['g r', 'Resources'],
  ['g g', 'Groups'],
  ['g c', 'Calls'],
  ['g d', 'Diagnostics', 'audit']
]

/** Dialog with the keyboard shortcuts and the setting that turns single letters off. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  const { shortcuts } = useApp().preferences
  const may = useRights()
  const usable = keys.filter(([, , needs]) => needs === undefined || may[needs])
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {usable.map(([names, what]) => (
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

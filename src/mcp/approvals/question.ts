import { isObject } from '../../domain/is-object.ts'
import { escapeText } from '../../domain/text/text.ts'
import { shownArguments } from './shown-arguments.ts'
import type { Ask } from './approval-gate.ts'

/** Characters of the arguments that a form shows. */
const MAX_SHOWN = 4_000

/** Key of the question in an `input_required` result. */
export const CONFIRM_KEY = 'towpath-confirm'

/** Returns the parameters of the `elicitation/create` that asks the person at the client, as JSON text. */
export function questionOf({ item, args = '{}', secrets }: Ask, redact: (text: string) => string): string {
  const text = JSON.stringify(shownArguments(args, redact, secrets?.names))
  const hidden = text.length - MAX_SHOWN
  const rest = hidden > 0 ? ` (${hidden} more characters are not shown)` : ''
  const shown = `${escapeText(text, MAX_SHOWN)}${rest}`
  const message = `[${item.server.name}] Run the tool ${escapeText(item.alias, 200)} with these arguments? ${shown}`
  const property = { type: 'boolean', title: 'Run it', default: false }
  const requestedSchema = { type: 'object', properties: { confirm: property }, required: ['confirm'] }
  return JSON.stringify({ mode: 'form', message, requestedSchema })
}

/** Returns true if the result of an elicitation is a yes. */
export function isYes(result: unknown): boolean {
  if (!isObject(result) || result['action'] !== 'accept') return false
  const { content } = result
  return isObject(content) && content['confirm'] === true
}

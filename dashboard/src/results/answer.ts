import { send } from '../api.ts'
import { parseJson, printJson, type Json } from '../form/json.ts'

/** Response of the gateway to a call, with its duration. */
export interface Answer {
  readonly value: Json
  readonly bytes: number
  readonly ms: number
}

/** Calls an item through the gateway. Throws failures as `ApiError`. */
export async function ask(path: string, body: Json, signal: AbortSignal): Promise<Answer> {
  const started = performance.now()
  const { body: text } = await send<string>('POST', path, {
    text: printJson(body, 0),
    parse: (received) => received,
    signal
  })
  const ms = performance.now() - started
  return { value: parseJson(text), bytes: new TextEncoder().encode(text).length, ms }
}

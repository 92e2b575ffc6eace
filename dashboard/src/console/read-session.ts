import type { ConsoleSession } from '../../../src/schemas/dashboard/session.ts'
import { path, send } from '../api.ts'
import { csrfToken } from '../session.ts'

/** Reads the session of the browser; throws an ApiError, with status 401 if there is none. */
export async function readSession(): Promise<ConsoleSession> {
  const { body } = await send<ConsoleSession>('GET', path('session'))
  csrfToken.value = body.csrf_token ?? ''
  return body
}

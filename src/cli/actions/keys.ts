import type { Static } from '@sinclair/typebox'
import type { KeyRotation } from '../../schemas/keys.ts'
import { EXIT } from '../io/failure.ts'
import type { Action } from '../io/runner.ts'
import { recordView } from '../output/views.ts'

/** Rotates all secrets: repeats the request, which re-encrypts a limited number, while it makes progress. */
export const rotate: Action = async (cli) => {
  const send = () => cli.api.post<Static<typeof KeyRotation>>('/api/v0/keys/rotate')
  let rewrapped = 0
  for (;;) {
    const { body } = await send()
    rewrapped += body.rewrapped
    if (body.remaining > 0 && body.rewrapped > 0) continue
    const total = { ...body, rewrapped }
    await cli.show({ body: total }, recordView(total, body.key_id))
    if (body.remaining > 0) cli.warn(`${body.remaining} secrets still need the previous key`)
    if (body.unreadable > 0) cli.warn(`${body.unreadable} secrets cannot be decrypted`, 'register their servers again')
    return body.remaining + body.unreadable > 0 ? EXIT.failed : EXIT.done
  }
}

/** `towpath keys rotate-signing`. */
export const rotateSigningKey: Action<{ readonly revoke?: boolean }> = async (cli, _args, { revoke = false }) => {
  const answer = await cli.api.post<{ kid: string }>('/api/v0/signing_keys/rotate', { revoke })
  cli.note('access tokens are signed with a new key')
  await cli.show(answer, recordView(answer.body, answer.body.kid))
}

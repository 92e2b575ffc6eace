import type { SeenClient } from '../../schemas/dashboard/shared.ts'

interface Visitor extends Pick<SeenClient, 'name' | 'endpoint'> {
  readonly version: string | undefined
  /** Milliseconds since 1970. */
  readonly seenAt: number
}

/** A client as the pages show it. */
export const seenClient = ({ name, version, endpoint, seenAt }: Visitor): SeenClient => ({
  name,
  ...(version === undefined ? {} : { version }),
  endpoint,
  seen: new Date(seenAt).toISOString()
})

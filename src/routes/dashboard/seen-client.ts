import type { Visitor } from '../../gateway/visitors.ts'
import type { SeenClient } from '../../schemas/dashboard/shared.ts'

/** A client as the pages show it. */
export const seenClient = ({ name, version, endpoint, seenAt }: Visitor): SeenClient => ({
  name,
  ...(version === undefined ? {} : { version }),
  endpoint,
  seen: new Date(seenAt).toISOString()
})

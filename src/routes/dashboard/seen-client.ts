import type { ActiveClient } from '../../observe/client-activity.ts'
import type { SeenClient } from '../../schemas/dashboard/shared.ts'

/** Converts an activity record for the dashboard. */
export const seenClient = ({ name, version, endpoint, seenAt }: ActiveClient): SeenClient => ({
  name,
  ...(version === undefined ? {} : { version }),
  endpoint,
  seen: new Date(seenAt).toISOString()
})

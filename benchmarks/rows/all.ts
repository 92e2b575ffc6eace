import { largeCalls, smallCalls } from './calls.ts'
import { enterpriseCalls } from './enterprise.ts'
import { idleStreams } from './idle-streams.ts'
import { lists } from './lists.ts'
import { registrySize } from './registry-size.ts'
import { restCalls } from './rest.ts'
import type { Row } from './row.ts'
import { sessionCalls } from './sessions.ts'
import { idleMemory, starts } from './start.ts'
import { signedInCalls } from './sign-in.ts'
import { stdioCalls } from './stdio-calls.ts'
import { stdioSpares } from './stdio-spares.ts'
import { streams } from './streams.ts'

/** Rows in the order of the table. */
export const rows: readonly Row[] = [
  smallCalls,
  largeCalls,
  enterpriseCalls,
  restCalls,
  sessionCalls,
  stdioSpares,
  stdioCalls,
  lists,
  streams,
  idleStreams,
  registrySize,
  starts,
  idleMemory,
  signedInCalls
]

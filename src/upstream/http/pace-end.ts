import { createPacedWork } from '../../lib/paced-work.ts'

/**
 * Runs the end of a connection or a session, of any server: for 1 ms in a turn of the event loop, since to end a hundred
 * takes 40 ms.
 */
export const paceEnd = createPacedWork(1)

/** Given when a socket is closed that is no longer needed. One object: Node.js formats the stack of each new one. */
export const released = new Error('released')

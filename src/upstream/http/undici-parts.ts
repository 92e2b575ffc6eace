/**
 * The parts of undici that the gateway uses. Its index also loads fetch, WebSocket, caches and mocks, which take a
 * tenth of the start.
 */
import api from 'undici/lib/api/index.js'
import buildConnector from 'undici/lib/core/connect.js'
import symbols from 'undici/lib/core/symbols.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import poolBase from 'undici/lib/dispatcher/pool-base.js'

// as the index does
Object.assign(Dispatcher.prototype, api)

/** Names of the method that closes a pool, and of the list of its connections. */
export const { kClose } = symbols
export const { kClients } = poolBase

export { Agent, buildConnector, Pool }

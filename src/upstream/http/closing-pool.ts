import type { Client, Pool as UndiciPool } from 'undici'
import { paceEnd } from './pace-end.ts'
import { kClients, kClose, Pool } from './undici-parts.ts'

type CloseAll = () => Promise<unknown>

/** Creates a pool that closes its idle connections with `paceEnd`. */
export function createClosingPool(origin: string, options: UndiciPool.Options): UndiciPool {
  const pool = new Pool(origin, options)
  const closeAll = (Reflect.get(pool, kClose) as CloseAll).bind(pool)
  const closePaced = (client: Client) =>
    new Promise<void>((resolve) => paceEnd(() => resolve(client.destroyed ? undefined : client.close())))
  const close: CloseAll = () => {
    // undici closes the connections once it has sent the queued requests
    if (pool.stats.queued > 0) return closeAll()
    return Promise.all((Reflect.get(pool, kClients) as Client[]).map(closePaced))
  }
  Object.assign(pool, { [kClose]: close })
  return pool
}

import type { Bench, Gateway, GatewayOptions } from '../bench.ts'
import type { Headers } from '../requests.ts'

const ADMIN = 'bench-admin-token-0123456789'
const CLIENT = 'bench-client-token-0123456789'
const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

/** Headers of a client that may use the server `bench`. */
export const client = bearer(CLIENT)

export const server = (url: string) => ({ transport: 'streamable_http', url: `${url}/mcp` })

export const enterpriseOptions = (env: NodeJS.ProcessEnv = {}): GatewayOptions => ({
  env: {
    SERVER_MODE: 'enterprise',
    TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOWPATH_ADMIN_TOKEN: ADMIN,
    ...env
  },
  adminHeaders: bearer(ADMIN)
})

/** Starts an enterprise gateway with one server and one client that has a token and an allow list. */
export async function enterpriseGateway(
  bench: Bench,
  upstreamUrl: string,
  env: NodeJS.ProcessEnv = {},
  place?: GatewayOptions['place']
): Promise<Gateway> {
  const gateway = await bench.gateway({ ...enterpriseOptions(env), ...(place && { place }) })
  await gateway.register('bench', server(upstreamUrl))
  const body = { name: 'bench', allowed_servers: ['bench'], access_token: CLIENT }
  await (await gateway.admin('POST', '/clients', body)).text()
  return gateway
}

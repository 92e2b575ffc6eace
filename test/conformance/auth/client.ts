/**
 * The gateway as client under test: registers the server of a scenario over REST, follows the sign-in and calls a tool.
 * The suite runs it with the server's URL as last argument and describes the scenario in `MCP_CONFORMANCE_*`.
 */
const { TOWPATH_REGISTRY: registry = '', MCP_CONFORMANCE_SCENARIO: scenario = '' } = process.env
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Readonly<Record<string, string>>
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? ''
const url = process.argv.at(-1)!
const redirectUri = 'http://127.0.0.1:8976/oauth/callback'
const server = `${scenario}-${revision}`.replace(/[^a-z\d]+/gi, '-')

interface Answer {
  readonly status: number
  readonly body: any
}

async function send(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(registry + path, {
    method,
    ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {})
  })
  return { status: response.status, body: await response.json() }
}

let scopes: readonly string[] = []

/** Opens the authorization URL as a browser would and sends what arrives at the redirect URI to the gateway. */
async function signIn({ session_id: id, authorization_url: page }: Record<string, string>): Promise<Answer> {
  scopes = new URL(page!).searchParams.get('scope')?.split(' ') ?? []
  const { headers } = await fetch(page!, { redirect: 'manual' })
  const answer = Object.fromEntries(new URL(headers.get('location') ?? '', redirectUri).searchParams)
  return send('POST', `/api/v0/upstream_oauth/sessions/${id}/complete`, answer)
}

const config = {
  name: server,
  transport: 'streamable_http',
  url,
  oauth_redirect_uri: redirectUri,
  // only the scenario of a client that was registered by hand
  ...(context.client_id ? { oauth_client_id: context.client_id } : {}),
  ...(context.client_secret ? { oauth_client_secret: context.client_secret } : {})
}

/** Registers the server; again with its new issuer if the server has changed it, as an administrator would. */
async function register(again: boolean, more?: readonly string[], issuer?: string): Promise<Answer> {
  const body = { ...config, ...(issuer && { oauth_issuer: issuer }), ...(more && { oauth_scopes: more }) }
  const answer = await send('POST', `/api/v0/servers${again ? '?force=true' : ''}`, body)
  if (answer.status === 409 && issuer === undefined)
    return register(true, more, /"(http[^"]+)"/.exec(answer.body.error)?.[1])
  return answer.status === 202 ? signIn(answer.body.authorization_required) : answer
}

async function callFirstTool(): Promise<Answer> {
  const { body: tools } = await send('GET', `/api/v0/tools?server=${server}`)
  return send('POST', '/api/v0/tools/invoke', { name: tools[0].name })
}

/** Registers the server and calls its tool. Resolves with the first answer that is no success, else with the last. */
async function registerAndCall(again: boolean, more?: readonly string[]): Promise<Answer> {
  const registered = await register(again, more)
  return registered.status === 201 ? callFirstTool() : registered
}

let answer = await registerAndCall(false)
// the sign-in lacks scopes, which the failure names, or the server has moved to another authorization server
const [, missing] = /lacks the scopes "([^"]+)"/.exec(answer.body.error ?? '') ?? []
const more = missing === undefined ? undefined : [...new Set([...scopes, ...missing.split(' ')])]
if (answer.status === 502) answer = await registerAndCall(true, more)
if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)

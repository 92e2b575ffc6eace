import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client as Client2,
  StreamableHTTPClientTransport as HttpTransport2,
  UnauthorizedError as UnauthorizedError2,
  type OAuthClientProvider as OAuthClientProvider2
} from '@modelcontextprotocol/client'
import { UnauthorizedError, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { decodeJwt } from 'jose'
import { REDIRECT, type Tokens } from '../fixtures/identity-provider/gateway.ts'
import { shareSetup } from '../shared-setup.ts'
import { letIn, startSignInProcess } from './sign-in-gateway.ts'
import { cellsOf } from '../matrix.ts'

const identity = { name: 'a client of a test', version: '1' }
const start = shareSetup(startSignInProcess)

/** What a program keeps that signs in with an SDK. */
interface Kept {
  client?: { client_id: string }
  tokens?: Tokens & { token_type: string }
  verifier?: string
  discovery?: object
  /** URL at which the browser has come back. */
  back?: URL
}

/** Returns the part of a program that an SDK asks for; it serves both versions. `document`: URL of its own description. */
function createOAuthProvider(kept: Kept, document?: string): OAuthClientProvider & OAuthClientProvider2 {
  return {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'A client with an SDK', redirect_uris: [REDIRECT] },
    ...(document !== undefined && { clientMetadataUrl: document }),
    state: () => 'a state of the client',
    clientInformation: () => kept.client,
    saveClientInformation: (client: object) => void (kept.client = client as NonNullable<Kept['client']>),
    tokens: () => kept.tokens,
    saveTokens: (tokens: object) => void (kept.tokens = tokens as NonNullable<Kept['tokens']>),
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state: object) => void (kept.discovery = state),
    async redirectToAuthorization(url: URL) {
      kept.back = (await letIn(url, (to) => to.href.startsWith(REDIRECT))).url
    }
  } as OAuthClientProvider & OAuthClientProvider2
}

type Provider = ReturnType<typeof createOAuthProvider>

/** A client of an SDK that connects to an endpoint. */
interface Connection {
  connect(): Promise<void>
  /** Gives the SDK what has arrived at the redirect URI. */
  finish(back: URL): Promise<void>
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  callTool(name: string): Promise<unknown>
  close(): Promise<void>
}

function openV1(endpoint: URL, authProvider: Provider): Connection {
  const client = new Client(identity)
  const transport = new StreamableHTTPClientTransport(endpoint, { authProvider })
  return {
    // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
    connect: () => client.connect(transport as Transport),
    finish: (back) => transport.finishAuth(back.searchParams.get('code')!),
    listTools: () => client.listTools(),
    callTool: (name) => client.callTool({ name, arguments: {} }),
    close: () => client.close()
  }
}

function openV2(endpoint: URL, authProvider: Provider): Connection {
  const client = new Client2(identity, { versionNegotiation: { mode: 'auto' } })
  const transport = new HttpTransport2(endpoint, { authProvider })
  return {
    connect: () => client.connect(transport),
    finish: (back) => transport.finishAuth(back.searchParams),
    listTools: () => client.listTools(),
    callTool: (name) => client.callTool({ name, arguments: {} }),
    close: () => client.close()
  }
}

const sdks = [
  { version: 1, open: openV1, Unauthorized: UnauthorizedError },
  { version: 2, open: openV2, Unauthorized: UnauthorizedError2 }
] as const
const audienceOf = ({ tokens }: Kept) => decodeJwt(tokens!.access_token).aud

for (const [{ version, open, Unauthorized }, registers] of cellsOf(sdks, [true, false])) {
  const way = registers ? 'registers itself' : 'is described by a document behind TLS'
  test(`IA-05 a client of SDK ${version} that ${way} connects by URL, calls a tool and renews its token`, async (t) => {
    const { url, host } = await start()
    const endpoint = `${url}${registers ? '/v0/groups/team/mcp' : '/mcp'}`
    const document = registers ? undefined : host.addDocument(`/sdk-${version}.json`, REDIRECT)
    const kept: Kept = {}
    const provider = createOAuthProvider(kept, document)

    const first = open(new URL(endpoint), provider)
    t.after(() => first.close())
    await assert.rejects(first.connect(), Unauthorized)
    if (document === undefined) assert.doesNotMatch(kept.client!.client_id, /^https:/)
    else assert.equal(kept.client!.client_id, document)
    await first.finish(kept.back!)
    assert.equal(audienceOf(kept), endpoint)

    const second = open(new URL(endpoint), provider)
    t.after(() => second.close())
    await second.connect()
    const { tools } = await second.listTools()
    assert.ok(
      tools.some(({ name }) => name === 'k8s__echo'),
      JSON.stringify(tools)
    )
    assert.match(JSON.stringify(await second.callTool('k8s__echo')), /k8s/)

    const before = kept.tokens!
    // as the gateway would answer to an expired one
    kept.tokens = { ...before, access_token: 'expired' }
    kept.back = undefined as never
    assert.match(JSON.stringify(await second.callTool('k8s__echo')), /k8s/)
    assert.notEqual(kept.tokens.refresh_token, before.refresh_token)
    assert.equal(audienceOf(kept), endpoint)
    assert.equal(kept.back, undefined, 'nobody was asked again')
  })
}

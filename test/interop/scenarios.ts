import { type Client, type Server, type Transport, clients, servers } from './programs.ts'

export const sessionModes = ['stateless', 'stateful'] as const
export type SessionMode = (typeof sessionModes)[number]

/** One row of the matrix: a client at an endpoint of the gateway, with an upstream server. */
export interface Scenario {
  readonly client: Client
  readonly clientTransport: 'http' | 'sse'
  readonly server: Server
  readonly serverTransport: Transport
  readonly sessionMode: SessionMode
  /** All servers under prefixed names, or a group of one server with bare names. */
  readonly view: 'all' | 'group'
  readonly serverMode: 'development' | 'enterprise'
}

/** Servers that every client runs against: one of both eras and one of the legacy era, once in each session mode. */
const commonServers = [
  { name: 'python-2', transport: 'http', modes: { http: 'stateful', sse: 'stateless' } },
  { name: 'typescript-1', transport: 'stdio', modes: { http: 'stateless', sse: 'stateful' } }
] as const

/** Clients that every server runs against, one of each era. */
const commonClients = ['go-sdk-legacy', 'typescript-2']

/**
 * Returns the rows: every client with a few servers, every server with a few clients, and every client with a token.
 */
export function plan(): Scenario[] {
  const rows = new Map<string, Scenario>()
  const add = (scenario: Scenario) => rows.set(describe(scenario), scenario)
  for (const client of clients) for (const scenario of rowsOf(client)) add(scenario)
  for (const server of servers) for (const scenario of rowsBefore(server)) add(scenario)
  for (const client of clients) for (const scenario of rowsWithToken(client)) add(scenario)
  return [...rows.values()]
}

const isEndpoint = (transport: Transport) => transport !== 'stdio'

function rowsOf(client: Client): Scenario[] {
  return commonServers.flatMap(({ name, transport, modes }) =>
    client.transports.filter(isEndpoint).map((clientTransport) => ({
      client,
      clientTransport,
      server: find(servers, name),
      serverTransport: transport,
      sessionMode: modes[clientTransport],
      // both views of each endpoint, alternating
      view: (clientTransport === 'http') === (modes[clientTransport] === 'stateful') ? 'all' : 'group',
      serverMode: 'development'
    }))
  )
}

function rowsBefore(server: Server): Scenario[] {
  return commonClients.flatMap((name) =>
    server.transports.flatMap((serverTransport) =>
      sessionModes.map((sessionMode) => ({
        client: find(clients, name),
        clientTransport: 'http' as const,
        server,
        serverTransport,
        sessionMode,
        view: 'all' as const,
        serverMode: 'development' as const
      }))
    )
  )
}

function rowsWithToken(client: Client): Scenario[] {
  return client.transports.filter(isEndpoint).map((clientTransport) => ({
    client,
    clientTransport,
    server: find(servers, 'python-2'),
    serverTransport: 'http',
    sessionMode: 'stateful',
    view: 'all',
    serverMode: 'enterprise'
  }))
}

export function find<T extends { readonly name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name)
  if (found === undefined) throw new Error(`${name} is none of ${all.map((one) => one.name).join(', ')}`)
  return found
}

export function describe(scenario: Scenario): string {
  const { client, clientTransport, server, serverTransport, sessionMode, view, serverMode } = scenario
  const place = serverMode === 'enterprise' ? `${view}, token` : view
  return `${client.name} ${clientTransport} (${place}) → ${server.name} ${serverTransport} ${sessionMode}`
}

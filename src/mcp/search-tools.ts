import type { Item } from '../catalog/catalog.ts'
import { listedServers, listedTool } from '../catalog/search-listing.ts'
import type { ScopeSearch, SearchIndex } from '../catalog/search-index.ts'
import { readTool } from '../catalog/search/tool-text.ts'
import type { Scope } from '../catalog/scope.ts'
import type { ToolVectors } from '../catalog/vectors/tool-vectors.ts'
import { isObject } from '../domain/is-object.ts'
import { fuseRankings } from '../domain/search/fusion.ts'
import { nearestNames } from '../domain/search/nearest.ts'
import { MAX_QUERY, MAX_SEARCH_LIMIT as MAX_LIMIT } from '../domain/search/limits.ts'
import { valueOf } from '../json/json.ts'
import type { Observer } from '../observe/observation.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import type { InboundLimits } from './batches/batch.ts'
import { checkLengths } from './messages/lengths.ts'
import type { Method, ResultSender } from './method.ts'
import type { RequestContext } from './sessions/request-context.ts'
import { foundAnswer, serversAnswer, type SearchAnswer } from './search/answers.ts'
import { InnerCallError, innerRequest } from './search/inner-call.ts'
import { createRecentHits, type RecentHits } from './search/recent-hits.ts'

/** Tools of each ranking that count if there are two */
const CANDIDATES = 50
/** Longest wait for postings that are being made */
const READY_MS = 1_000

export interface SearchToolsOptions {
  readonly index: Pick<SearchIndex, 'of'>
  /** Undefined without a model. */
  readonly vectors: Pick<ToolVectors, 'nearest'> | undefined
  readonly results: ResultSender
  readonly observer: Pick<Observer, 'onSearch' | 'onSearchHit'>
  readonly limits: InboundLimits
}

interface Query {
  readonly query: string
  readonly limit: number
  readonly server: string | undefined
}

const isQuery = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 2 * MAX_QUERY && Array.from(value).length <= MAX_QUERY

/** Serves the tools that an endpoint in search mode has of its own (tool-groups.md#search-mode). */
export class SearchTools {
  readonly #options: SearchToolsOptions
  readonly #recent: RecentHits

  constructor(options: SearchToolsOptions) {
    this.#options = options
    this.#recent = createRecentHits(options.observer.onSearchHit)
  }

  /**
   * Serves `tools/call`: answers `find_tools`, and turns `call_tool` and `read_tool` into a call of the tool that they
   * name. `direct` serves everything else, and what it was turned into.
   */
  call(context: RequestContext, direct: Method): Promise<void> | void {
    const { scope, message, caller, endpoint } = context
    if (scope.search === undefined) return direct(context)
    const name = message.param('name')
    if (name === 'find_tools') return this.#find(context, scope.search.limit)
    if (name === 'call_tool' || name === 'read_tool') return this.#callInner(context, name, direct)
    if (typeof name === 'string') this.#recent.called(caller.key, endpoint, name)
    return direct(context)
  }

  /** Tells a caller of `call_tool` or `read_tool` that there is no such tool, and which are named alike. */
  sendUnknown(context: RequestContext, name: string): void {
    const { scope } = context
    const names = toolsOf(scope).map((item) => listedTool(scope, item).name)
    const nearest = nearestNames(name, names)
    const hint = nearest.length === 0 ? '' : ` Named alike: ${nearest.join(', ')}.`
    this.#sendError(context, `Unknown tool: ${name.slice(0, 200)}.${hint} find_tools finds tools by what they do.`)
  }

  async #find(context: RequestContext, defaultLimit: number): Promise<void> {
    const { scope, caller, endpoint } = context
    const asked = readQuery(context, defaultLimit)
    if (typeof asked === 'string') return this.#sendError(context, asked)
    const { query, server } = asked
    const servers = listedServers(scope)
    const shown = server === undefined ? servers : servers.filter(({ name }) => name === server)
    if (shown.length === 0 && server !== undefined) return this.#send(context, serversAnswer(query, servers), true)
    if (query.trim() === '') return this.#send(context, serversAnswer('', shown))
    const startedAt = performance.now()
    const { items, ...counts } = await this.#hits(context, asked)
    this.#options.observer.onSearch(performance.now() - startedAt)
    const found = items.map((item) => foundTool(scope, item))
    this.#recent.found(
      caller.key,
      endpoint,
      found.map(({ read }) => read.name)
    )
    this.#send(context, found.length === 0 ? serversAnswer(query, shown) : foundAnswer(found, counts))
  }

  /** Returns the tools that fit a query best: by their words and, if there are vectors, by their meaning. */
  async #hits(context: RequestContext, { query, limit, server }: Query) {
    const { vectors } = this.#options
    const near = vectors?.nearest(context.scope, query, CANDIDATES, server)
    const search = await this.#searchOf(context)
    if (!near) return search.find(query, limit, server)
    const { items, total, named } = await search.find(query, CANDIDATES, server)
    const meant = await near
    if (!meant) return { items: items.slice(0, limit), total, named }
    const fused = fuseRankings(items, meant.items, { limit, pinned: named, isUnranked: meant.isUnranked })
    return { items: fused, total: Math.max(total, fused.length), named }
  }

  /** Waits for the postings. Throws ProtocolError if they take too long. */
  async #searchOf({ scope, message: { id } }: RequestContext): Promise<ScopeSearch> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, READY_MS, undefined)))
    try {
      const search = await Promise.race([this.#options.index.of(scope), late])
      if (search) return search
    } finally {
      clearTimeout(timer)
    }
    throw new ProtocolError(codes.internal, 'the tools are being indexed: try again', {
      status: 200,
      id,
      data: { reason: 'overloaded', retryAfter: 1 }
    })
  }

  #callInner(context: RequestContext, tool: 'call_tool' | 'read_tool', direct: Method): Promise<void> | void {
    const { caller, endpoint, scope } = context
    const { limits } = this.#options
    const inner = this.#innerOf(context, tool)
    if (!inner) return
    checkLengths(inner.message, limits.identifierBytes)
    const item = tool === 'read_tool' ? scope.find('tool', inner.name) : undefined
    if (item && !readTool(listedTool(scope, item).text).isReadOnly) {
      return this.#sendError(context, `${inner.name.slice(0, 200)} may change something: call it with call_tool.`)
    }
    this.#recent.called(caller.key, endpoint, inner.name)
    return direct({ ...context, message: inner.message, isInner: true })
  }

  /** Returns the request of the inner call; undefined after an answer that says what is wrong with it. */
  #innerOf(context: RequestContext, tool: string) {
    try {
      return innerRequest(context.message, this.#options.limits)
    } catch (error) {
      if (!(error instanceof InnerCallError)) throw error
      this.#sendError(context, `Invalid arguments of ${tool}: ${error.message}.`)
      return undefined
    }
  }

  #send(context: RequestContext, { text, structured }: SearchAnswer, isError = false): void {
    const content = `"content":[{"type":"text","text":${JSON.stringify(text)}}]`
    this.#options.results.send(
      context,
      `${content},"structuredContent":${structured}${isError ? ',"isError":true' : ''}`
    )
  }

  #sendError(context: RequestContext, text: string): void {
    this.#options.results.send(context, `"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":true`)
  }
}

const toolsOf = (scope: Scope): readonly Item[] =>
  scope.servers.flatMap((server) => server.items('tool').filter(scope.includes))

function foundTool(scope: Scope, item: Item) {
  const { text } = listedTool(scope, item)
  return { server: item.server.name, definition: text, read: readTool(text) }
}

/** Reads the arguments of `find_tools`. Returns a text for the model if they are wrong. */
function readQuery({ message }: RequestContext, defaultLimit: number): Query | string {
  const text = valueOf(message.text, message.paramMembers, 'arguments')
  const given: unknown = text === undefined ? {} : JSON.parse(text)
  if (!isObject(given)) return 'Invalid arguments of find_tools: they must be an object.'
  const { query = '', server, limit = defaultLimit } = given
  if (!isQuery(query))
    return `Invalid arguments of find_tools: "query" must be a string of at most ${MAX_QUERY} characters.`
  if (server !== undefined && server !== null && typeof server !== 'string') {
    return 'Invalid arguments of find_tools: "server" must be the name of a server.'
  }
  const isLimit = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT
  if (!isLimit) return `Invalid arguments of find_tools: "limit" must be a whole number from 1 to ${MAX_LIMIT}.`
  return { query, limit, server: server ?? undefined }
}

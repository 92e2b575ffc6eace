import type { UpstreamOffer } from '../../registry/model/model.ts'
import type { ServerTrial } from '../../schemas/dashboard/servers.ts'
import { hasCredential, type Target } from '../../upstream/transports.ts'
import { lastLines } from '../../domain/failures/stderr-line.ts'
import { administrators, detailsOf, messageOf, UpstreamFailure } from '../../protocol/upstream-failure.ts'

const TOOLS = 100

const toTool = (definition: string, name: string) => {
  const { description } = JSON.parse(definition) as { description?: unknown }
  return { name, ...(typeof description === 'string' ? { description } : {}) }
}

const countItems = ({ items }: Pick<UpstreamOffer, 'items'>) => {
  const tools = items.filter(({ kind }) => kind === 'tool')
  return {
    tool_count: tools.length,
    prompt_count: items.filter(({ kind }) => kind === 'prompt').length,
    resource_count: items.filter(({ kind }) => kind === 'resource' || kind === 'template').length,
    skill_count: items.filter(({ kind }) => kind === 'skill').length,
    tools: tools.slice(0, TOOLS).map(({ definition, name }) => toTool(definition, name))
  }
}

export interface TrialOptions {
  /** Connects and reads the lists. Rejects with UpstreamFailure. */
  read(target: Target): Promise<UpstreamOffer>
  /** Returns the lines on stderr of the process. */
  stderr(): readonly string[]
}

/** Connects and reads the lists, like a registration, but stores nothing. */
export async function runTrial(target: Target, { read, stderr: lines }: TrialOptions): Promise<ServerTrial> {
  const startedAt = performance.now()
  const timing = () => ({ name: target.name, ms: Math.round(performance.now() - startedAt) })
  try {
    const offer = await read(target)
    return { ...timing(), status: 'connected', stderr: [], ...countItems(offer) }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error
    const status = error.reason === 'auth' && !hasCredential(target.secrets) ? 'sign_in_needed' : 'failing'
    const output = lastLines(lines())
    const stderr = output.length > 0 ? output : lastLines(error.program?.stderr ?? [])
    return {
      ...timing(),
      status,
      error: messageOf(error, administrators),
      ...detailsOf(error, administrators),
      stderr,
      ...countItems({ items: [] })
    }
  }
}

import { createEmbeddingsEndpoint } from '../catalog/vectors/embeddings-endpoint.ts'
import { createToolVectors, type ToolVectors } from '../catalog/vectors/tool-vectors.ts'
import type { GatewayOptions } from './base.ts'
import type { UpstreamSide } from './upstream-side.ts'

/** Creates the vectors for search of these settings; undefined without a model. */
export function vectorsOf(
  { config, registry, log }: Pick<GatewayOptions, 'config' | 'registry' | 'log'>,
  { fetchFor }: Pick<UpstreamSide['connections'], 'fetchFor'>
): ToolVectors | undefined {
  if (!config.embeddings) return undefined
  const { url } = config.embeddings
  const endpoint = createEmbeddingsEndpoint({ ...config.embeddings, fetchFor: (...bounds) => fetchFor(url, ...bounds) })
  return createToolVectors({ endpoint, store: registry.embeddings, log })
}

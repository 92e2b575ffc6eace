import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import * as sources from '../sources.ts'

/** Enables or disables tools; the list shows it at once, and rejects with the gateway's refusal. */
export function useToolSwitch(): (tool: ToolView, enabled: boolean) => Promise<void> {
  const { store } = useApp()
  return async ({ canonical_name }, enabled) => {
    await change('PATCH', path('tools', canonical_name, 'enabled'), { enabled })
    store.open(sources.tools).patch(({ tools }) => ({
      tools: tools.map((tool) => (tool.canonical_name === canonical_name ? { ...tool, enabled } : tool))
    }))
  }
}

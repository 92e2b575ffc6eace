import { change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import * as sources from '../sources.ts'
import type { Store } from '../store.ts'

type Kind = 'tools' | 'prompts' | 'resources'

/** Optimistic updates of the list. */
const patches: Readonly<Record<Kind, (store: Store, name: string, enabled: boolean) => void>> = {
  tools: (store, name, enabled) =>
    store.open(sources.tools).patch(({ tools }) => ({
      tools: tools.map((each) => (each.canonical_name === name ? { ...each, enabled } : each))
    })),
  prompts: (store, name, enabled) =>
    store.open(sources.prompts).patch(({ prompts }) => ({
      prompts: prompts.map((each) => (each.canonical_name === name ? { ...each, enabled } : each))
    })),
  resources: (store, uri, enabled) =>
    store.open(sources.resources).patch(({ resources, templates }) => ({
      resources: resources.map((each) => (each.uri === uri ? { ...each, enabled } : each)),
      templates: templates.map((each) => (each.uri_template === uri ? { ...each, enabled } : each))
    }))
}

/** Returns a function that enables or disables an item by its public name or URI; it rejects if the gateway refuses. */
export function useSwitch(kind: Kind): (name: string, enabled: boolean) => Promise<void> {
  const { store } = useApp()
  return async (name, enabled) => {
    await change('PATCH', path(kind, name, 'enabled'), { enabled })
    patches[kind](store, name, enabled)
  }
}

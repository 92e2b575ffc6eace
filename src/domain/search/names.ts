/** Names of the tools that an endpoint in search mode has of its own. */
export const searchToolNames = ['find_tools', 'read_tool', 'call_tool'] as const

export type SearchToolName = (typeof searchToolNames)[number]

/** Returns true for the name of a tool that an endpoint in search mode has of its own. */
export const isSearchTool = (name: unknown): name is SearchToolName => searchToolNames.some((each) => each === name)

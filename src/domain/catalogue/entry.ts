/** Value that a `server.json` fixes or asks for */
export interface EntryInput {
  readonly description?: string
  readonly isRequired?: boolean
  readonly isSecret?: boolean
  readonly format?: 'string' | 'number' | 'boolean' | 'filepath'
  /** Fixed value; `{name}` stands for the variable of that name */
  readonly value?: string
  readonly default?: string
  readonly placeholder?: string
  readonly choices?: readonly string[]
  readonly variables?: Readonly<Record<string, EntryInput>>
}

/** Argument of a command; a named one is written as its name, followed by its value if it has one. */
export interface EntryArgument extends EntryInput {
  readonly type: 'positional' | 'named'
  /** With the leading dashes */
  readonly name?: string
  readonly valueHint?: string
  readonly isRepeated?: boolean
}

/** Environment variable or header */
export interface EntryPair extends EntryInput {
  readonly name: string
}

/** Package of a package registry, whose program is the server */
export interface EntryPackage {
  /** `npm`, `pypi`, `oci`, `nuget`, `mcpb` */
  readonly registryType: string
  readonly registryBaseUrl?: string
  readonly identifier: string
  readonly version?: string
  readonly runtimeHint?: string
  readonly transport: string
  readonly runtimeArguments?: readonly EntryArgument[]
  readonly packageArguments?: readonly EntryArgument[]
  readonly environmentVariables?: readonly EntryPair[]
}

/** Server that its publisher runs */
export interface EntryRemote {
  readonly type: 'streamable-http' | 'sse'
  readonly url: string
  readonly variables?: Readonly<Record<string, EntryInput>>
  readonly headers?: readonly EntryPair[]
}

/** Checked and cleaned `server.json` of an MCP registry */
export interface CatalogueEntry {
  /** `namespace/name`; the registry verifies the namespace */
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly version: string
  readonly repository?: string
  readonly website?: string
  readonly isDeprecated?: boolean
  readonly packages: readonly EntryPackage[]
  readonly remotes: readonly EntryRemote[]
}

/** Returns the namespace of an entry's name, such as `io.github.owner`. */
export const publisherOf = (name: string): string => name.slice(0, name.indexOf('/'))

/** Everything that the process was told at its start; the only reader of the environment on the server (decisions "Starting"). */
export interface Config {
  readonly mode: 'development' | 'enterprise'
  readonly host: string
  readonly port: number
  /** PostgreSQL URL; undefined: the embedded store in `dataDir`. */
  readonly databaseUrl: string | undefined
  /** For LISTEN and migrations, past a transaction-mode pooler; undefined with the embedded store. */
  readonly directDatabaseUrl: string | undefined
  /** Absolute path. Holds the embedded store and, where none is configured, the encryption key file. */
  readonly dataDir: string
  /** 32 bytes; undefined: a key file in `dataDir`, created when missing. */
  readonly encryptionKey: Buffer | undefined
  readonly demo: boolean
  readonly otel: boolean
  /** Without a trailing slash; undefined: taken from the request. */
  readonly publicUrl: string | undefined
  /** Host names (no port) that are accepted besides loopback names and the public URL's; null: any (enterprise default). */
  readonly allowedHosts: readonly string[] | null
  readonly allowedOrigins: readonly string[]
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  readonly stdio: {
    readonly enabled: boolean
    /** Absolute paths of the executables that may be started; null: any. */
    readonly commands: readonly string[] | null
    readonly uid: number | undefined
    readonly gid: number | undefined
    /** Working directory of stdio servers; undefined: a fresh empty folder each. */
    readonly cwd: string | undefined
    readonly maxProcesses: number
    readonly maxQueue: number
  }
  readonly spareSessions: number
  /** Interval of the refresh of upstream lists in milliseconds, 0 = off. */
  readonly refreshIntervalMs: number
  readonly timeouts: {
    readonly connectMs: number
    readonly callMs: number
    readonly callTotalMs: number
    readonly requestBodyMs: number
    readonly databaseConnectMs: number
    readonly databaseQueryMs: number
    readonly drainMs: number
    readonly sessionIdleMs: number
  }
  readonly limits: {
    readonly restBodyBytes: number
    readonly mcpBodyBytes: number
    readonly jsonDepth: number
    readonly jsonElements: number
    readonly batch: number
    readonly headerBytes: number
    readonly upstreamResponseBytes: number
    readonly streamBufferBytes: number
    readonly sessions: number
  }
}

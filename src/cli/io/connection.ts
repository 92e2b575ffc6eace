import type { ConfigFile } from './config-file.ts'
import { usage } from './failure.ts'

const DEFAULT_REGISTRY = 'http://127.0.0.1:8080'

/** Gateway URL and credentials of the command. */
export interface Connection {
  /** Without a trailing slash. */
  readonly registry: string
  /** Source of the URL. */
  readonly source: '--registry' | 'TOWPATH_REGISTRY' | 'file' | 'default'
  /** Undefined also for a sign-in, whose tokens expire. */
  readonly token: string | undefined
  readonly tokenSource: 'TOWPATH_TOKEN' | 'sign-in' | 'file' | undefined
}

/** Validates and normalises a registry URL; `from` names its source in errors. */
export function registryUrl(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw usage(`the registry URL in ${from} must begin with http:// or https://`, `for example ${DEFAULT_REGISTRY}`)
  if (url.username || url.password)
    throw usage(`the registry URL in ${from} must not contain a user name or password`, 'set TOWPATH_TOKEN instead')
  if (url.search || url.hash) throw usage(`the registry URL in ${from} must not contain a query or fragment`)
  return url.href.replace(/\/+$/, '')
}

/** Checks that the token fits into a header; the error does not show it. */
export function checkToken(token: string, from: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw usage(`the access token in ${from} contains white space or other invalid characters`)
  return token
}

/**
 * Determines URL and token: `--registry`, then the environment, then the file, then the default
 * (http-contract.md#command-line-configuration; the environment is an addition).
 */
export function resolveConnection(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  file: ConfigFile,
  path: string
): Connection {
  const token = env.TOWPATH_TOKEN || file.access_token
  const tokenSource: Connection['tokenSource'] = env.TOWPATH_TOKEN
    ? 'TOWPATH_TOKEN'
    : file.access_token
      ? 'file'
      : undefined
  if (token !== undefined) checkToken(token, tokenSource === 'file' ? path : 'TOWPATH_TOKEN')
  const createConnection = (url: string, source: Connection['source'], from: string = source) => ({
    registry: registryUrl(url, from),
    source,
    token,
    tokenSource
  })
  if (flag !== undefined) return createConnection(flag, '--registry')
  if (env.TOWPATH_REGISTRY) return createConnection(env.TOWPATH_REGISTRY, 'TOWPATH_REGISTRY')
  if (file.registry_url) return createConnection(file.registry_url, 'file', path)
  return createConnection(DEFAULT_REGISTRY, 'default')
}

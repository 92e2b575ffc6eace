import { developmentCaller, type Caller } from '../../catalog/caller.ts'
import { allServers, noServers } from '../../domain/policy/allow-list.ts'
import { valueOf } from '../../json/json.ts'
import type { SignIn } from '../../registry/model/model.ts'
import type { RequestContext } from '../sessions/request-context.ts'

type Hashes = 'credential' | 'providerSession' | 'staticToken'

/** Parts of a request that the gateway keeps to make its call later; byte strings are hexadecimal. */
export interface TaskFacts {
  /** Name of the tool at the endpoint. */
  readonly name: string
  /** JSON text of the arguments object as the caller sent it: the group's override applies anew. */
  readonly args: string
  readonly caller: Pick<Caller, 'kind' | 'name' | 'key' | 'tokenId' | 'scopes' | 'oauthClient'> & {
    readonly tokenHash?: string | undefined
    readonly signIn?: (Omit<SignIn, Hashes> & { readonly [K in Hashes]: string | undefined }) | undefined
  }
}

const toHex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex')
const toBytes = (hex: string | undefined) => (hex === undefined ? undefined : Buffer.from(hex, 'hex'))

/** Returns the facts of a call whose caller accepts a task; undefined for all others. */
export function taskFactsOf({ era, taskCapabilities, message, caller }: RequestContext): TaskFacts | undefined {
  if (era !== 'modern' || taskCapabilities === undefined) return undefined
  const { kind, name, key, tokenId, tokenHash, scopes, signIn, oauthClient } = caller
  return {
    name: message.param('name') as string,
    args: valueOf(message.text, message.paramMembers, 'arguments') ?? '{}',
    caller: {
      ...{ kind, name, key, tokenId, scopes, oauthClient },
      tokenHash: toHex(tokenHash),
      signIn: signIn && {
        ...signIn,
        credential: toHex(signIn.credential)!,
        providerSession: toHex(signIn.providerSession),
        staticToken: toHex(signIn.staticToken)
      }
    }
  }
}

/** Returns the caller of these facts as it was then; only the catalog knows whether it may still call. */
export function callerOfFacts({ caller }: TaskFacts): Caller {
  const { tokenHash, signIn, ...rest } = caller
  if (rest.kind === 'development') return developmentCaller
  return {
    ...rest,
    allowed: rest.kind === 'client' ? noServers : allServers,
    tokenHash: toBytes(tokenHash),
    signIn: signIn && {
      ...signIn,
      credential: toBytes(signIn.credential)!,
      providerSession: toBytes(signIn.providerSession),
      staticToken: toBytes(signIn.staticToken)
    }
  }
}

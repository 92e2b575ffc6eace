import { PRODUCT } from '../../domain/product.ts'
import type { Api, TokenSource } from './api.ts'
import { EXIT, Failure } from './failure.ts'
import { changeSignIn, type SignIn } from './account-file.ts'

/** Time before its expiry at which an access token is renewed. */
const EARLY_MS = 30_000

/** True if the access token can still be sent. */
const isFresh = ({ expires_at }: SignIn): boolean => Date.parse(expires_at) - EARLY_MS > Date.now()

const ended = (registry: string, options?: ErrorOptions) =>
  new Failure(EXIT.refused, `the sign-in at ${registry} has ended`, {
    ...options,
    code: 'sign_in_ended',
    hint: `run \`${PRODUCT} login\``
  })

async function refresh(api: Api, current: SignIn): Promise<SignIn> {
  const { findAuthorizationServer, oauthErrorOf, signInFailure, toSignIn } = await import('./authorization-server.ts')
  if (current.refresh_token === undefined) throw ended(api.registry)
  const server = await findAuthorizationServer(api)
  if (!server) throw ended(api.registry)
  const { refreshTokenGrant } = await import('openid-client')
  try {
    const { config, resource } = server
    return toSignIn(await refreshTokenGrant(config, current.refresh_token, { resource }), current)
  } catch (error) {
    if (oauthErrorOf(error) === 'invalid_grant') throw ended(api.registry, { cause: error })
    throw signInFailure(error, 'renewing the sign-in')
  }
}

/**
 * Returns a sign-in whose access token is not `unusable`: one that another process has stored meanwhile, or a renewed
 * one. Rejects with a Failure if the sign-in has ended.
 */
async function renewSignIn(api: Api, home: string, unusable: string): Promise<SignIn> {
  const renewed = await changeSignIn(home, api.registry, async (current) => {
    if (!current) throw ended(api.registry)
    if (current.access_token !== unusable && isFresh(current)) return current
    return refresh(api, current)
  })
  return renewed!
}

/** Creates the source of tokens for a stored sign-in, which is renewed when it expires or is refused. */
export function createTokenSource(home: string, stored: SignIn): TokenSource {
  let signedIn = stored
  const replace = async (api: Api, refused: string) => {
    signedIn = await renewSignIn(api, home, refused)
    return signedIn.access_token
  }
  return {
    current: async (api) => (isFresh(signedIn) ? signedIn.access_token : replace(api, signedIn.access_token)),
    replace
  }
}

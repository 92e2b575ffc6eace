import type { interactionPolicy as policies, KoaContextWithOIDC } from 'oidc-provider'
import { PRODUCT } from '../domain/product.ts'

type Library = typeof import('oidc-provider')

/** Parameter of stored authorization requests: SHA-256 of a cookie of the browser. The gateway sets it itself. */
export const BROWSER_PARAMETER = `${PRODUCT}_browser`
/** Header in which the library gets the same of all cookies of the request at hand; what a client sends in it is replaced. */
export const BROWSER_HEADER = `x-${PRODUCT}-browser`

const isSameBrowser = ({ oidc, req }: KoaContextWithOIDC): boolean => {
  const begun = oidc.params?.[BROWSER_PARAMETER]
  return typeof begun === 'string' && begun !== '' && String(req.headers[BROWSER_HEADER]).split(' ').includes(begun)
}

/**
 * Returns the rules of the library for when a person is asked: one page for sign-in and consent, at every authorization,
 * since a remembered consent could be ridden by another client. The answer counts in the browser that asked.
 */
export function createConsentPolicy({ interactionPolicy, errors }: Library): policies.DefaultPolicy {
  const { Check } = interactionPolicy
  const policy = interactionPolicy.base()
  const login = policy.get('login')!
  login.checks.clear()
  login.checks.add(
    new Check('sign_in', 'the user has to consent', 'interaction_required', (context) => {
      if (!context.oidc.result?.login) return Check.REQUEST_PROMPT
      if (isSameBrowser(context)) return Check.NO_NEED_TO_PROMPT
      const error = new errors.SessionNotFound('this sign-in was not started in this browser')
      throw Object.assign(error, { allow_redirect: false })
    })
  )
  // asked for by clients that want to stay connected; the page is shown anyway
  policy.get('consent')!.checks.clear()
  return policy
}

import { networkOf } from '../domain/network/client-address.ts'
import { AppError, forbidden, invalid } from '../lib/errors.ts'
import type { AuditedAction } from '../registry/model/model.ts'
import { invalidInvite, type InvitedUser, type LocalAccount } from '../registry/local-accounts.ts'
import type { Registry } from '../registry/registry.ts'
import { createPasswords, passwordProblem } from './passwords.ts'

type RequestOrigin = Required<Pick<AuditedAction, 'address' | 'requestId'>>

/** Outcome of a sign-in with a password. */
export interface PasswordCheck {
  /** The user that the name belongs to, for the audit log. */
  readonly account: LocalAccount | undefined
  readonly isRight: boolean
}

/** People who sign in with a password, by invitation. */
export interface LocalAccounts {
  /**
   * Checks a name and a password; takes equally long whether the user exists or not. Rejects with a 429 AppError after
   * too many failures, also for names that nobody has.
   */
  check(name: string, password: string, address: string): Promise<PasswordCheck>
  /** Returns the user of an invitation. Rejects with a 400 AppError if it is unknown, used or expired. */
  invitedUser(code: string): Promise<InvitedUser>
  /** Sets the password of an invited user. Rejects with a 400 AppError for an invitation or password that is not valid. */
  setPassword(code: string, password: string, origin: RequestOrigin): Promise<void>
}

export function createLocalAccounts(registry: () => Pick<Registry, 'write' | 'localAccounts'>): LocalAccounts {
  const passwords = createPasswords()
  const invitedUser = async (code: string): Promise<InvitedUser> => {
    const user = await registry().localAccounts.findInvited(code)
    if (!user) throw invalidInvite()
    return user
  }
  return {
    async check(name, password, address) {
      const { localAccounts } = registry()
      const network = networkOf(address)
      const retryAfter = await localAccounts.countAttempt(name, network)
      if (retryAfter !== undefined) {
        throw new AppError(429, 'Too many sign-ins with this name have failed. Try again in 15 minutes.', {
          retryAfter
        })
      }
      const account = await localAccounts.find(name)
      const isRight = await passwords.verify(password, account?.hash, address)
      if (!isRight || !account) return { account, isRight: false }
      await localAccounts.forgetFailures(name, network)
      if (!account.active) throw forbidden(`The user "${name}" is suspended.`)
      return { account, isRight }
    },

    invitedUser,

    async setPassword(code, password, origin) {
      // before the work of hashing
      const { name, role } = await invitedUser(code)
      const problem = passwordProblem(password, name)
      if (problem !== undefined) throw invalid(problem)
      const passwordHash = await passwords.hash(password, origin.address ?? '')
      const change = { actor: { kind: role, name }, action: 'user.password', target: name, ...origin }
      await registry().write(change, (tx) => tx.localAccounts.setPassword(code, passwordHash))
    }
  }
}

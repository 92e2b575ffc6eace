/** Bytes of one answer that its client has not taken yet. */
export interface UnsentResponse {
  /** The answer's own bytes, in place of what was said before. */
  setBytes(bytes: number): void
  /** Bytes that other answers hold as well, a page of a list: counted once. */
  addShared(buffer: ArrayBufferLike): void
  /** The answer has gone, or its connection. */
  close(): void
}

/**
 * Answers that wait for clients to read them, bounded in bytes of one principal and of all. Past a limit the connection
 * that has waited longest is closed, of the principal that holds most: others are served on.
 */
export interface UnsentResponses {
  /** `cut` closes the connection of the answer. */
  open(principal: string, cut: () => void): UnsentResponse
  readonly bytes: number
}

interface Entry {
  readonly cut: () => void
  bytes: number
  readonly shared: ArrayBufferLike[]
}

interface Account {
  bytes: number
  /** In order of their beginning. */
  readonly answers: Set<Entry>
  /** How many answers hold each. */
  readonly shared: Map<ArrayBufferLike, number>
}

const createAccount = (): Account => ({ bytes: 0, answers: new Set(), shared: new Map() })

function addSharedBuffer(account: Pick<Account, 'bytes' | 'shared'>, buffer: ArrayBufferLike): void {
  const count = account.shared.get(buffer) ?? 0
  account.shared.set(buffer, count + 1)
  if (count === 0) account.bytes += buffer.byteLength
}

function removeSharedBuffer(account: Pick<Account, 'bytes' | 'shared'>, buffer: ArrayBufferLike): void {
  const count = account.shared.get(buffer) ?? 0
  if (count > 1) return void account.shared.set(buffer, count - 1)
  account.shared.delete(buffer)
  account.bytes -= buffer.byteLength
}

/** `limit` is of one principal, `total` of all, in bytes. A single answer passes whatever its size. */
export function createUnsentResponses(limit: number, total: number): UnsentResponses {
  const accounts = new Map<string, Account>()
  const all = createAccount()

  const close = (principal: string, account: Account, answer: Entry) => {
    if (!account.answers.delete(answer)) return
    account.bytes -= answer.bytes
    all.bytes -= answer.bytes
    for (const buffer of answer.shared) {
      removeSharedBuffer(account, buffer)
      removeSharedBuffer(all, buffer)
    }
    if (account.answers.size === 0) accounts.delete(principal)
  }
  /** False where the answer for which room is made is the only one. */
  const cutOldest = (principal: string, account: Account, newest: Entry): boolean => {
    for (const answer of account.answers) {
      // nobody waits for a stream whose client has read everything
      if (answer === newest || (answer.bytes === 0 && answer.shared.length === 0)) continue
      close(principal, account, answer)
      answer.cut()
      return true
    }
    return false
  }
  const makeRoom = (principal: string, account: Account, newest: Entry) => {
    while (account.bytes > limit && cutOldest(principal, account, newest));
    while (all.bytes > total) {
      const most = [...accounts].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a))
      if (!cutOldest(...most, newest)) return
    }
  }
  return {
    open(principal, cut) {
      const account = accounts.get(principal) ?? createAccount()
      accounts.set(principal, account)
      const answer: Entry = { cut, bytes: 0, shared: [] }
      account.answers.add(answer)
      const update = (work: () => void) => {
        if (!account.answers.has(answer)) return
        work()
        makeRoom(principal, account, answer)
      }
      return {
        setBytes(bytes) {
          update(() => {
            account.bytes += bytes - answer.bytes
            all.bytes += bytes - answer.bytes
            answer.bytes = bytes
          })
        },
        addShared(buffer) {
          if (answer.shared.includes(buffer)) return
          update(() => {
            answer.shared.push(buffer)
            addSharedBuffer(account, buffer)
            addSharedBuffer(all, buffer)
          })
        },
        close: () => close(principal, account, answer)
      }
    },
    get bytes() {
      return all.bytes
    }
  }
}

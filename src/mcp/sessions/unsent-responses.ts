/** Bytes of one response that its client has not read yet. */
export interface UnsentResponse {
  /** Sets the response's own bytes, replacing the previous value. */
  setBytes(bytes: number): void
  /** Adds a buffer shared with other responses, such as a list page; it is counted once. */
  addShared(buffer: ArrayBufferLike): void
  /** Stops counting: the response was sent or its connection closed. */
  close(): void
}

/**
 * Bytes of responses not yet read by their clients, limited per principal and in total. Beyond a limit, the oldest
 * waiting connection of the principal with the most bytes is closed; the others are not affected.
 */
export interface UnsentResponses {
  /** Starts counting a response; `closeConnection` closes its connection. */
  open(principal: string, closeConnection: () => void): UnsentResponse
  readonly bytes: number
}

interface Entry {
  readonly closeConnection: () => void
  bytes: number
  readonly shared: ArrayBufferLike[]
}

interface Account {
  bytes: number
  /** Ordered by start time. */
  readonly answers: Set<Entry>
  /** Number of responses that use each shared buffer. */
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

/**
 * Creates the counter. `limit` applies per principal and `total` to all, in bytes. A single response may have any size.
 */
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
  /** Closes the oldest waiting connection; false if `newest` is the only one. */
  const closeOldest = (principal: string, account: Account, newest: Entry): boolean => {
    for (const answer of account.answers) {
      // a stream that its client has read completely holds no bytes
      if (answer === newest || (answer.bytes === 0 && answer.shared.length === 0)) continue
      close(principal, account, answer)
      answer.closeConnection()
      return true
    }
    return false
  }
  const makeRoom = (principal: string, account: Account, newest: Entry) => {
    while (account.bytes > limit && closeOldest(principal, account, newest));
    while (all.bytes > total) {
      const most = [...accounts].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a))
      if (!closeOldest(...most, newest)) return
    }
  }
  return {
    open(principal, closeConnection) {
      const account = accounts.get(principal) ?? createAccount()
      accounts.set(principal, account)
      const answer: Entry = { closeConnection, bytes: 0, shared: [] }
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

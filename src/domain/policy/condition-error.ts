/** A condition that cannot be used; the message says where and why. */
export class ConditionError extends Error {
  constructor(message: string, at?: number) {
    super(at === undefined ? message : `${message} (at character ${at + 1})`)
    this.name = 'ConditionError'
  }
}

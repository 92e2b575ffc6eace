/** A reason not to start that the operator has to settle; the process prints the message and ends with `exitCode`. */
export class StartRefusal extends Error {
  readonly exitCode = 2

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options)
    this.name = 'StartRefusal'
  }
}

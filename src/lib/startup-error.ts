/**
 * Problem that the operator must resolve before the gateway can start; the process prints the message and exits with
 * `exitCode`.
 */
export class StartupError extends Error {
  readonly exitCode = 2

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options)
    this.name = 'StartupError'
  }
}

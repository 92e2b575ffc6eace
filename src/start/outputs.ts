/** Output for people (`out`) and for log collectors (`log`). */
export interface Outputs {
  readonly out: (line: string) => void
  readonly log: { write(line: string): void }
  /** The command line program as a person types it, for the next step that the banner names. */
  readonly command: string
}

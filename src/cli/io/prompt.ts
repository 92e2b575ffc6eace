import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { EXIT, Failure } from './failure.ts'
import type { CliIo } from './io.ts'

/** Asks on the terminal; with `isHidden` the input is not echoed. */
async function ask({ stdin, stderr }: CliIo, question: string, isHidden: boolean): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: isHidden })
  lines.once('SIGINT', () => {
    stderr.write('\n')
    process.exit(EXIT.interrupted)
  })
  // echo is off by now
  stderr.write(question)
  try {
    const ended = new Promise<never>((_resolve, reject) => {
      lines.once('close', () => reject(new Failure(EXIT.interrupted, 'no answer was given')))
    })
    return await Promise.race([lines.question(''), ended])
  } finally {
    lines.close()
    if (isHidden) stderr.write('\n')
  }
}

export const askSecret = (io: CliIo, question: string) => ask(io, question, true)

export const askText = (io: CliIo, question: string) => ask(io, question, false)

/** Asks for confirmation; only `y` and `yes` confirm. */
export const confirm = async (io: CliIo, question: string): Promise<boolean> =>
  /^y(es)?$/i.test((await ask(io, `${question} [y/N] `, false)).trim())

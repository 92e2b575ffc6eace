import { spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'
import { until } from '../until.ts'
import { run } from './harness.ts'
import { needs } from '../needs.ts'

const works = (command: string, ...args: string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** Returns a command that runs a program in a pseudo-terminal: util-linux or Python. */
function findTerminal(): readonly string[] | undefined {
  if (process.platform === 'linux' && works('script', '-qec', 'true', '/dev/null'))
    return ['script', '-qec', 'bash --norc --noprofile -i', '/dev/null']
  const python = 'import pty; pty.spawn(["bash", "--norc", "--noprofile", "-i"])'
  return works('python3', '-c', 'import pty') ? ['python3', '-c', python] : undefined
}

const command = findTerminal()

/** The `skip` option without a pseudo-terminal. */
export const noTerminal = needs('terminal: script of util-linux, or python3', command !== undefined)

export interface Terminal {
  close(): Promise<void>
  /** Types the text unchanged. */
  type(text: string): void
  /** Waits until the output since the last command matches. */
  shows(pattern: RegExp): Promise<void>
  /** Types a command line, answers its prompts, and waits until it ends. Returns the output and the exit code. */
  run(line: string, ...answers: readonly (readonly [question: RegExp, answer: string])[]): Promise<TerminalResult>
}

export interface TerminalResult {
  readonly shown: string
  readonly code: number
}

/** Shell prompt that reports the last exit code. */
const prompt = /(?:^|\n)\r?\[(\d+)\]> $/

/** Opens an interactive bash in a pseudo-terminal. */
export async function openTerminal(t: TestContext, env: NodeJS.ProcessEnv): Promise<Terminal> {
  const [program, ...args] = command!
  const running = run(t, program!, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...env, TERM: 'xterm', LANG: 'C.UTF-8', PS1: '[$?]> ', PS2: '', HISTFILE: '' }
  })
  let from = 0
  const shown = () => running.output().slice(from)
  const type = (text: string) => void running.child.stdin!.write(text)
  const shows = async (pattern: RegExp) => {
    try {
      await until('the terminal', () => pattern.test(shown()))
    } catch (cause) {
      throw new Error(`the terminal does not show ${pattern.source} but ${JSON.stringify(shown())}`, { cause })
    }
  }
  await shows(prompt)
  return {
    type,
    shows,
    async close() {
      type('exit\n')
      await running.exited
    },
    async run(line, ...answers) {
      from = running.output().length
      type(`${line}\n`)
      for (const [question, answer] of answers) {
        await shows(question)
        type(answer)
      }
      await shows(prompt)
      const [, code] = prompt.exec(shown())!
      // without the echo of the line, and without the prompt
      return {
        shown: shown()
          .slice(shown().indexOf('\n') + 1)
          .replace(prompt, ''),
        code: Number(code)
      }
    }
  }
}

import { check } from './check.ts'
import type { CheckTask, Judgement } from './judge.ts'

function judge({ schema, value }: CheckTask): Judgement {
  try {
    return { problems: check(schema, value) }
  } catch (error) {
    return { unsound: (error as Error).message }
  }
}

addEventListener('message', ({ data }: MessageEvent<CheckTask>) => postMessage(judge(data)))
postMessage('ready')

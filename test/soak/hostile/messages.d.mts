import type { RpcMessage } from '../../fixtures/http/server.ts'

export const tools: readonly string[]
export const storm: readonly Buffer[]
export function answersTo(message: RpcMessage, own?: readonly string[]): Generator<Buffer>

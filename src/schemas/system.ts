import { Type } from '@sinclair/typebox'

export const Health = Type.Object({ status: Type.String() }, { $id: 'Health' })
export const Metadata = Type.Object({ version: Type.String() }, { $id: 'Metadata' })

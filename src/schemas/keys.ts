import { Type } from '@sinclair/typebox'

export const KeyRotation = Type.Object(
  {
    rewrapped: Type.Integer({ description: 'Secrets moved to the current key by this request' }),
    remaining: Type.Integer({
      description: 'Secrets that still need the previous key: repeat the request until it is 0'
    }),
    unreadable: Type.Integer({ description: 'Secrets that neither key can decrypt; register their servers again' }),
    key_id: Type.String({ description: 'Identifier of the current key; does not reveal the key' })
  },
  { $id: 'KeyRotation' }
)

export const SigningKeyRotation = Type.Object(
  {
    revoke: Type.Optional(
      Type.Boolean({ description: 'Refuse the tokens of all older keys at once; clients renew them. Default false' })
    )
  },
  { $id: 'SigningKeyRotation', additionalProperties: false }
)

export const NewSigningKey = Type.Object(
  { kid: Type.String({ description: 'Id of the key that signs access tokens from now on' }) },
  { $id: 'NewSigningKey' }
)

import { isObject } from '../../domain/is-object.ts'
import { signingAlgorithms } from '../../domain/access/signing-algorithms.ts'
import { textsIn, type Document, type Finding } from './finding.ts'

const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** Tests if a public key (RFC 7517) can verify signatures of an algorithm. */
function fits(key: Document, algorithm: string): boolean {
  const { kty, use, alg, crv } = key
  if (use !== undefined && use !== 'sig') return false
  if (alg !== undefined && alg !== algorithm) return false
  if (/^[RP]S/.test(algorithm)) return kty === 'RSA'
  return algorithm.startsWith('ES') ? kty === 'EC' && crv === curves[algorithm] : kty === 'OKP' && crv === 'Ed25519'
}

/** Checks that a key set has keys for the algorithms that the provider announces. */
export function checkKeySet(
  keySet: Document,
  metadata: Document
): Pick<Finding, 'status' | 'title' | 'detail' | 'hint'> {
  const announced = textsIn(metadata['id_token_signing_alg_values_supported']) ?? ['RS256']
  const usable = signingAlgorithms.filter((name) => announced.includes(name))
  const detail = 'the notices of the provider that people have signed out cannot be verified'
  if (usable.length === 0) {
    const title = 'The provider announces no algorithm with a public key for its tokens'
    return { status: 'fail', title, detail, hint: 'choose a signing key for the client at the provider' }
  }
  const keys = Array.isArray(keySet['keys']) ? keySet['keys'].filter(isObject) : []
  const found = usable.filter((algorithm) => keys.some((key) => fits(key, algorithm)))
  if (found.length > 0) return { status: 'pass', title: `The provider has public keys for ${found.join(', ')}` }
  const title = `The key set of the provider has no key for ${usable.join(', ')}`
  return { status: 'fail', title, detail, hint: 'choose a signing key for the client at the provider' }
}

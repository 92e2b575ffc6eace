import type { UserDetails } from '../../../src/schemas/principal.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Why a person has the role. */
export function RoleReason({ user: { role_reason, role_groups = [] } }: { user: UserDetails }) {
  if (role_reason === 'manual') return <>given by an administrator</>
  if (role_reason === 'default') return <>no group gives another role</>
  return (
    <>
      because of group <UntrustedText text={role_groups.join(', ')} />
    </>
  )
}

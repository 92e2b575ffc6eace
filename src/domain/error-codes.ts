/** `code` of errors before the first administrator exists. */
export const NOT_INITIALIZED = 'not_initialized'
/** `code` of errors on routes that development mode lacks. */
export const ENTERPRISE_MODE_ONLY = 'enterprise_mode_only'
/** `code` of a call that a policy refused. */
export const DENIED_BY_POLICY = 'denied_by_policy'
/** `code` of a call that somebody has to approve first. */
export const NEEDS_APPROVAL = 'needs_approval'
/** `code` of a change of a policy that is in the policy file. */
export const POLICY_IN_FILE = 'policy_in_file'
/** `code` of an installation whose entry of the catalogue is not the one that was shown. */
export const ENTRY_CHANGED = 'catalogue_entry_changed'

/** Claim of a person's access tokens: time from which sign-ins of the user counted when the token was issued. */
export const SIGN_INS_CLAIM = 'sign_ins_from'

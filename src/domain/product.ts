/** The one place where the product's name stands; environment prefix, token prefix and file names follow from it. */
export const PRODUCT = 'towpath'
export const TITLE = 'Towpath'
export const ENV_PREFIX = 'TOWPATH_'

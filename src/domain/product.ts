/** The only definition of the product's name; environment prefix, token prefix and file names derive from it. */
export const PRODUCT = 'towpath'
export const TITLE = 'Towpath'
export const ENV_PREFIX = 'TOWPATH_'

/** The only definition of the product's name; environment prefix, token prefix and file names derive from it. */
export const PRODUCT = 'towpath'
export const TITLE = 'Towpath'
export const ENV_PREFIX = 'TOWPATH_'
/** Address of the project; the owner of the packages sets it here and in package.json. */
export const HOMEPAGE = 'https://github.com/towpath/towpath'

/** The only definition of the product's name; environment prefix, token prefix and file names derive from it. */
export const PRODUCT = 'towpath'
export const TITLE = 'Towpath'
/** OAuth client id of the command line, which every gateway knows. */
export const COMMAND_LINE_CLIENT = `${PRODUCT}-cli`
export const ENV_PREFIX = 'TOWPATH_'
/** Address of the project; the owner of the packages sets it here and in package.json. */
export const HOMEPAGE = 'https://github.com/towpath/towpath'

/** Title of the check for items of a server that are not served. `count`: 1 or more. */
export const leftOutTitle = (server: string, count: number): string =>
  `The server ${server} lists ${count} ${count === 1 ? 'item that is' : 'items that are'} not served`

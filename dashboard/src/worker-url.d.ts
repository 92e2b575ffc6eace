/** URL of a separate script, built by Vite. */
declare module '*?worker&url' {
  const url: string
  export default url
}

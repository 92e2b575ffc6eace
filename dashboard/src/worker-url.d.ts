/** Address of a script of its own, made by Vite. */
declare module '*?worker&url' {
  const url: string
  export default url
}

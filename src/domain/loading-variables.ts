/**
 * Environment variables that make a program load code or start another program: of the dynamic linker, the C library,
 * shells, language runtimes, package managers and build tools. Names in upper case; a trailing `*` marks a prefix.
 */
const loadingVariables: readonly string[] = (
  'LD_* DYLD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES LOCPATH NLSPATH MALLOC_TRACE OPENSSL_* ' +
  'PATH HOME SHELL IFS ENV BASH_ENV BASH_FUNC_* BASHOPTS SHELLOPTS PS4 PROMPT_COMMAND CDPATH ZDOTDIR XDG_* ' +
  'EDITOR VISUAL PAGER BROWSER LESSOPEN LESSCLOSE ' +
  'NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NPM_* PNPM_* YARN_* COREPACK_* BUN_* DENO_* TS_NODE_* TSX_* ' +
  'PYTHON* PIP_* PIPX_* UV_* UVX_* POETRY_* PDM_* CONDA_* VIRTUAL_ENV ' +
  'PERL5* PERLLIB PERL_* RUBYOPT RUBYLIB GEM_* BUNDLE_* RUBYGEMS_* PHPRC PHP_* LUA_* R_* JULIA_* ERL_* ELIXIR_* ' +
  'CLASSPATH JAVA_* _JAVA_* JDK_* JRE_* MAVEN_* GRADLE_* SBT_* ' +
  'DOTNET_* CORECLR_* COR_* COMPLUS_* ASPNETCORE_* MONO_* ' +
  'GIT_* SSH_ASKPASS DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT GOFLAGS GOROOT GOPATH GOENV GOPROXY GOTOOLCHAIN CARGO_* RUSTC RUSTC_* RUSTFLAGS RUSTUP_* CC CXX MAKEFLAGS'
).split(' ')

/** Exceptions that only affect output and hashing of Python */
const harmless = new Set(
  'PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONFAULTHANDLER'.split(' ')
)

const names = new Set(loadingVariables)
const prefixes = loadingVariables.flatMap((name) => (name.endsWith('*') ? [name.slice(0, -1)] : []))

/** Returns true for a variable that makes a program load code. Ignores case, since npm does. */
export function loadsCode(name: string): boolean {
  const upper = name.toUpperCase()
  return !harmless.has(upper) && (names.has(upper) || prefixes.some((prefix) => upper.startsWith(prefix)))
}

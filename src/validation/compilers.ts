import AjvCompiler from '@fastify/ajv-compiler'
import SerializerCompiler from '@fastify/fast-json-stringify-compiler'

type ValidatorFactory = AjvCompiler.BuildCompilerFromPool
type SerializerFactory = SerializerCompiler.SerializerFactory

/** Validator compiled by Ajv; `errors` belong to the last value checked. */
interface ValidateFunction {
  (value: unknown): boolean
  errors?: unknown
}

/**
 * Compiles each validator on its first request: compiling the schemas of all routes takes half of the start.
 * test/integration/openapi.test.ts finds schemas that do not compile.
 */
export const compileValidatorsLazily =
  (build: ValidatorFactory): ValidatorFactory =>
  (shared, options) => {
    const compile = build(shared, options)
    return (route) => {
      let compiled: ValidateFunction | undefined
      const validate: ValidateFunction = (value) => {
        compiled ??= compile(route) as unknown as ValidateFunction
        const isValid = compiled(value)
        validate.errors = compiled.errors
        return isValid
      }
      return validate as unknown as ReturnType<typeof compile>
    }
  }

/**
 * Compiles each response serializer on its first use. The compiler modifies its options, so each serializer gets its
 * own.
 */
export const compileSerializersLazily: SerializerFactory = (shared, options) => (route) => {
  let serialize: SerializerCompiler.Serializer | undefined
  return (value) => (serialize ??= SerializerCompiler()(shared, options)(route))(value)
}

import AjvCompiler from '@fastify/ajv-compiler'
import SerializerCompiler from '@fastify/fast-json-stringify-compiler'

type ValidatorFactory = AjvCompiler.BuildCompilerFromPool
type SerializerFactory = SerializerCompiler.SerializerFactory

/** What Ajv makes of a schema; `errors` are those of the last value. */
interface Validate {
  (value: unknown): boolean
  errors?: unknown
}

/**
 * Puts off what a validator costs to the first request that needs it: compiled at the start, the schemas of all routes
 * are half of its time. A schema that cannot be compiled is found by test/integration/openapi.test.ts.
 */
export const validateLater =
  (build: ValidatorFactory): ValidatorFactory =>
  (shared, options) => {
    const compile = build(shared, options)
    return (route) => {
      let made: Validate | undefined
      const validate: Validate = (value) => {
        made ??= compile(route) as unknown as Validate
        const isValid = made(value)
        validate.errors = made.errors
        return isValid
      }
      return validate as unknown as ReturnType<typeof compile>
    }
  }

/** The same for the serializers of answers. Each is given options of its own: the compiler changes what it gets. */
export const serializeLater: SerializerFactory = (shared, options) => (route) => {
  let serialize: SerializerCompiler.Serializer | undefined
  return (value) => (serialize ??= SerializerCompiler()(shared, options)(route))(value)
}

/** Form of the operator's password, which may be configured as a hash. */

export const MIN_PASSWORD_LENGTH = 12

/** Hash of a password with its parameters. It has no `$`, which Compose would expand. `npm run hash-password` prints one. */
export const PASSWORD_HASH = /^scrypt:(\d{4,7}):(\d{1,2}):(\d{1,2}):([\w-]{22,}):([\w-]{43,})$/

/** Describes the problem of a configured password; `undefined` when it is valid. */
export function passwordProblem(configured: string): string | undefined {
  if (configured.startsWith('scrypt:'))
    return PASSWORD_HASH.test(configured)
      ? undefined
      : 'is not a hash; write what "npm run hash-password" prints, whole, or a password that does not begin with scrypt:'
  return configured.length < MIN_PASSWORD_LENGTH
    ? `is too short; write ${MIN_PASSWORD_LENGTH} characters or more`
    : undefined
}

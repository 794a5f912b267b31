/** Whether a command was asked what it does. */

/** `argv` as a process has it. */
export function wantsHelp(argv: readonly string[]): boolean {
  return argv.slice(2).some((flag) => flag === '--help' || flag === '-h')
}
